// On the host, as root: what a JVM cannot do between fork and exec.
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init.h"

#define LIST_MAX 256
#define HUNG_UP 3  /* exit status: the engine went away */
#define PATIENCE 5 /* s, for the killed to be gone */

struct list {
	int fds[LIST_MAX];
	size_t count;
};

struct launch {
	char *name; /* of the box: an argument in every command line until init has left our session */
	uid_t uid;
	gid_t gid;
	uint64_t core;
	int control, self, box, leaf; /* -1: none */
	struct list joins;            /* v1 tasks files that bwrap joins */
	struct mount_source mounts[LIST_MAX];
	size_t mount_count;
	char **bwrap; /* its path and options */
	size_t bwrap_count;
	struct list named, passed; /* descriptors: all of these, and those for bwrap */

	pid_t outer; /* bwrap; its child becomes init */
	int outer_pidfd, pidfd;
	int info; /* where bwrap writes the pid of its child */
	int gate; /* where init waits to be announced, and later reports that it runs */
};

// -------------------------------------------------------------------- options

static int add(struct list *list, int fd)
{
	errno = E2BIG;
	if (list->count == LIST_MAX)
		die("take descriptor %d", fd);
	return list->fds[list->count++] = fd;
}

static int descriptor(struct launch *launch, const char *text)
{
	return add(&launch->named, number(text));
}

static void add_mount(struct launch *launch, char *text)
{
	char *mode = strchr(text, ':');
	errno = EINVAL;
	if (!mode || (strcmp(mode, ":ro") != 0 && strcmp(mode, ":rw") != 0))
		die("take mount %s", text);
	bool is_writable = mode[2] == 'w';
	*mode = '\0';
	launch->mounts[launch->mount_count].fd = descriptor(launch, text);
	launch->mounts[launch->mount_count++].is_writable = is_writable;
}

static void parse(struct launch *launch, int argc, char **argv)
{
	static const struct option options[] = {
		{"uid", 1, 0, 'u'},   {"gid", 1, 0, 'g'},     {"core", 1, 0, 'c'},
		{"self", 1, 0, 's'},  {"control", 1, 0, 'C'}, {"keep", 1, 0, 'k'},
		{"box", 1, 0, 'b'},   {"leaf", 1, 0, 'l'},    {"join", 1, 0, 'j'},
		{"mount", 1, 0, 'm'}, {"name", 1, 0, 'n'},    {0},
	};
	for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;)
		switch (option) {
		case 'u': launch->uid = number(optarg); break;
		case 'g': launch->gid = number(optarg); break;
		case 'c': launch->core = number(optarg); break;
		case 's': launch->self = add(&launch->passed, descriptor(launch, optarg)); break;
		case 'C': launch->control = add(&launch->passed, descriptor(launch, optarg)); break;
		case 'k': add(&launch->passed, descriptor(launch, optarg)); break;
		case 'b': launch->box = descriptor(launch, optarg); break;
		case 'l': launch->leaf = descriptor(launch, optarg); break;
		case 'j': add(&launch->joins, descriptor(launch, optarg)); break;
		case 'm': add_mount(launch, optarg); break;
		case 'n': launch->name = optarg; break;
		default: exit(EXIT_FAILURE);
		}
	if (launch->uid == geteuid())
		launch->gid = getegid(); // without a change of uid the group cannot change
	launch->bwrap = argv + optind;
	launch->bwrap_count = argc - optind;
	errno = EINVAL;
	if (launch->control < 0 || launch->self < 0 || !launch->bwrap[0])
		die("start without --control, --self and the path of bwrap");
}

// -------------------------------------------------------------------- failure

/* ORDER: control is looked at, never read: the first bytes in it are for init. */
static bool is_hung_up(const struct launch *launch)
{
	return poll(&(struct pollfd){launch->control, POLLRDHUP, 0}, 1, 0) > 0;
}

/*
 * The box dies by its cgroup, or as a process group: bwrap, killed alone in the
 * middle of its work, can leave its child blocked for ever. We are a subreaper:
 * orphans become our children.
 */
static noreturn void abandon(const struct launch *launch)
{
	int status = is_hung_up(launch) ? HUNG_UP : EXIT_FAILURE;
	if (launch->box >= 0)
		write_at(launch->box, "cgroup.kill", "1");
	if (launch->pidfd >= 0)
		pidfd_send_signal(launch->pidfd, SIGKILL, NULL, 0);
	if (launch->outer > 0) {
		kill(launch->outer, SIGKILL); // RACE: perhaps it has no group of its own yet
		killpg(launch->outer, SIGKILL);
	}
	alarm(PATIENCE); // what cannot be killed is the engine's to name
	while (waitpid(-1, NULL, 0) > 0)
		;
	_exit(status);
}

#define fail(launch, ...) (complain(__VA_ARGS__), abandon(launch))

/* Until fd can be read; gives up when the engine or bwrap does. */
static void await(const struct launch *launch, int fd)
{
	struct pollfd fds[] = {{launch->control, POLLRDHUP, 0},
	                       {fd, POLLIN, 0},
	                       {launch->outer_pidfd, POLLIN, 0}};
	while (poll(fds, 3, -1) < 0)
		if (errno != EINTR)
			fail(launch, "poll");
	if (fds[0].revents)
		abandon(launch);
	errno = 0;
	if (!fds[1].revents)
		fail(launch, "set up the box, bwrap ended");
}

// ---------------------------------------------------------------------- bwrap

static bool become_nobody(const struct launch *launch)
{
	if (launch->uid == geteuid())
		return true;
	return setgroups(0, NULL) == 0 && setresgid(launch->gid, launch->gid, launch->gid) == 0 &&
	       setresuid(launch->uid, launch->uid, launch->uid) == 0;
}

static void pass_on(const struct list *passed)
{
	keep_only(passed->fds, passed->count);
	for (size_t i = 0; i < passed->count; i++)
		fcntl(passed->fds[i], F_SETFD, 0);
}

static char *text(const char *format, int value)
{
	char *result;
	if (asprintf(&result, format, value) < 0)
		die("format a number");
	return result;
}

static noreturn void run_bwrap(struct launch *launch, const int info[2], int gate)
{
	char *ending[] = {"--info-fd", text("%d", info[1]),
	                  "--", text("/proc/self/fd/%d", launch->self),
	                  "inside", text("%d", launch->control), text("%d", gate),
	                  launch->name, NULL};
	char *argv[launch->bwrap_count + sizeof ending / sizeof *ending];
	char *environment[] = {NULL};
	memcpy(argv, launch->bwrap, launch->bwrap_count * sizeof *argv);
	memcpy(argv + launch->bwrap_count, ending, sizeof ending);

	// RACE: both ends. If we are killed, bwrap must not die of SIGPIPE and leave its child
	// blocked; it goes on, and init finds no peer at the gate.
	add(&launch->passed, info[0]);
	add(&launch->passed, info[1]);
	add(&launch->passed, gate);
	pass_on(&launch->passed);
	umask(022);
	// KERNEL: a core_pattern that is a pipe is run at 0, too, but not at 1: see core(5).
	if (!limit(RLIMIT_CORE, launch->core) || !drop_privileges())
		die("limit the box");
	if (!become_nobody(launch))
		die("become uid %u", launch->uid);
	execve(argv[0], argv, environment);
	die("execute %s", argv[0]);
}

/*
 * KERNEL: moving a process waits for an RCU grace period, often 10 ms; a thread that
 * moves itself, by "0" in tasks, does not. Version 2 has no such file, and we are born there.
 */
static void join_cgroups(const struct list *tasks)
{
	for (size_t i = 0; i < tasks->count; i++)
		if (write(tasks->fds[i], "0", 1) != 1)
			die("join cgroup %zu of --join", i);
}

static void start_bwrap(struct launch *launch)
{
	int info[2], gate[2], join_error;
	if (pipe2(info, O_CLOEXEC) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) != 0)
		die("open a pipe");
	launch->outer = fork_into(launch->leaf, &join_error);
	if (launch->outer < 0)
		die("fork into the cgroup of the box");
	if (launch->outer == 0) {
		setpgid(0, 0); // one name for bwrap and its child
		errno = join_error;
		if (join_error)
			die("join the cgroup of the box");
		join_cgroups(&launch->joins);
		run_bwrap(launch, info, gate[1]);
	}
	close(info[1]);
	close(gate[1]);
	launch->info = info[0];
	launch->gate = gate[0];
	launch->outer_pidfd = pidfd_open(launch->outer, 0);
	if (launch->outer_pidfd < 0)
		fail(launch, "open a pidfd of bwrap");
}

// ----------------------------------------------------------------------- init

static pid_t read_pid(const struct launch *launch)
{
	char json[1024];
	size_t size = 0;
	for (ssize_t n = 1; n > 0 && size < sizeof json - 1; size += n) {
		await(launch, launch->info);
		n = read(launch->info, json + size, sizeof json - 1 - size);
		if (n < 0)
			fail(launch, "read the answer of bwrap");
	}
	json[size] = '\0';
	const char *key = strstr(json, "\"child-pid\":");
	return key ? atoi(strchr(key, ':') + 1) : 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[32], stat[512];
	pid_t parent;
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, stat, sizeof stat - 1);
	close_fd(&fd);
	stat[n > 0 ? n : 0] = '\0';
	const char *end_of_name = strrchr(stat, ')');
	return end_of_name && sscanf(end_of_name, ") %*c %d", &parent) == 1 ? parent : -1;
}

/*
 * RACE: bwrap reaps a child that dies early, and its pid may then be anyone's.
 * So: hold it, see whose child the pid is, see that what we hold still lives.
 * Then the pid was its own all along, and bwrap, not reaped, has but one child.
 */
static pid_t find_init(struct launch *launch)
{
	pid_t pid = read_pid(launch);
	errno = 0;
	if (pid <= 1)
		fail(launch, "set up the box, bwrap made no child");
	launch->pidfd = pidfd_open(pid, 0);
	struct pollfd end = {launch->pidfd, POLLIN, 0};
	if (launch->pidfd < 0 || parent_of(pid) != launch->outer || poll(&end, 1, 0) != 0) {
		close_fd(&launch->pidfd);
		fail(launch, "set up the box, its pid %d is gone", pid);
	}
	return pid;
}

static void announce(const struct launch *launch, pid_t pid)
{
	uint32_t body = pid;
	if (!message_send(launch->control, MESSAGE_LAUNCHED, 0, &body, sizeof body, launch->pidfd))
		fail(launch, "announce the box");
}

static void admit(const struct launch *launch)
{
	char byte;
	if (send(launch->gate, "", 1, MSG_NOSIGNAL) != 1)
		fail(launch, "open the gate");
	await(launch, launch->gate);
	errno = 0;
	if (read(launch->gate, &byte, 1) != 1)
		fail(launch, "set up the box, init ended");
	(void)!read(launch->gate, &byte, 1); // ORDER: the box is up when init has let go of it
}

/* Nothing needs it any more and it would cost a pid. Init falls to the engine's subreaper. */
static void dismiss_bwrap(const struct launch *launch)
{
	pidfd_send_signal(launch->outer_pidfd, SIGKILL, NULL, 0);
	waitpid(launch->outer, NULL, 0);
}

int outside(int argc, char **argv)
{
	struct launch launch = {.name = "box", .uid = geteuid(), .gid = getegid(), .core = 1,
	                        .control = -1, .self = -1, .box = -1, .leaf = -1,
	                        .outer_pidfd = -1, .pidfd = -1};

	parse(&launch, argc, argv);
	keep_only(launch.named.fds, launch.named.count);
	reset_signals();
	if (launch.mount_count > 0)
		mounts_stage(launch.mounts, launch.mount_count, launch.uid, launch.gid);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	start_bwrap(&launch);
	pid_t init = find_init(&launch);
	announce(&launch, init);
	admit(&launch);
	dismiss_bwrap(&launch);
	return EXIT_SUCCESS;
}
