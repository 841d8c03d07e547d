/*
 * The forkserver: one process that stays, and makes boxes by clone3(2) where bwrap would be executed
 * for each.
 *
 * bwrap makes the file system of a box for it, once: the template, whose mount namespace we enter.
 * A box is then a child of the engine (CLONE_PARENT) in namespaces of its own, copied from ours; it
 * mounts what is its own, gives up what its maker may do, and is pid 1.
 *
 * Without all capabilities of root it first makes a user namespace in which it has them: the userns.
 * KERNEL: what a user is allowed of watches, queues and pending signals is counted for the owner of
 * each user namespace above him, too. So boxes have one between them and the host only where it
 * must be, or one of them could use up what all others have.
 *
 * Orders, in struct order, name what to make; we hold nothing of a box once it is cloned; see
 * clone_box.c. A zygote is a forkserver that executes an interpreter when the template is there, see
 * zygote_exec.c.
 */
#include <getopt.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init.h"

#define KEEP_MAX 16

struct forkserver {
	int control; /* where orders come from */
	int self;    /* ebb-init, for the template */
	int leaf;    /* our own cgroup, -1: none */
	int kept[KEEP_MAX], kept_count; /* for bwrap */
	bool has_userns;
	uid_t root, first, count; /* its host uids: ours, and those of boxes; count 0: all share ours */
	char **bwrap;
	int bwrap_count;
	int zygote; /* what to execute when the template is there, -1: nothing */
	struct title title;
};

// -------------------------------------------------------------------- options

static void keep_for_bwrap(struct forkserver *forkserver, int fd)
{
	errno = E2BIG;
	if (forkserver->kept_count == KEEP_MAX)
		die("take descriptor %d", fd);
	forkserver->kept[forkserver->kept_count++] = fd;
}

static void parse(struct forkserver *forkserver, int argc, char **argv)
{
	static const struct option options[] = {
		{"control", 1, 0, 'C'}, {"self", 1, 0, 's'},  {"leaf", 1, 0, 'l'},  {"keep", 1, 0, 'k'},
		{"root", 1, 0, 'r'},    {"first", 1, 0, 'f'}, {"count", 1, 0, 'c'}, {"zygote", 1, 0, 'z'},
		{0},
	};
	for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;)
		switch (option) {
		case 'C': forkserver->control = number(optarg); break;
		case 's': forkserver->self = number(optarg); break;
		case 'l': forkserver->leaf = number(optarg); break;
		case 'k': keep_for_bwrap(forkserver, number(optarg)); break;
		case 'r':
			forkserver->has_userns = true;
			forkserver->root = number(optarg);
			break;
		case 'f': forkserver->first = number(optarg); break;
		case 'c': forkserver->count = number(optarg); break;
		case 'z': forkserver->zygote = number(optarg); break;
		default: exit(EXIT_FAILURE);
		}
	forkserver->bwrap = argv + optind;
	forkserver->bwrap_count = argc - optind;
	errno = EINVAL;
	if (forkserver->control < 0 || forkserver->self < 0 || !forkserver->bwrap[0])
		die("start without --control, --self and the path of bwrap");
	char *last = argv[argc - 1];
	forkserver->title = (struct title){argv[-1], last + strlen(last) + 1 - argv[-1]};
}

// --------------------------------------------------------------------- userns

/*
 * Our uid is 0 there and `root` here; each uid of a box is its distance from `first`, plus one as
 * long as it is below ours. KERNEL: no uid can be mapped twice.
 */
static void write_map(const struct forkserver *forkserver, const char *process, const char *name)
{
	char path[64], map[128];
	uint32_t below = forkserver->count ? forkserver->root - forkserver->first : 0;
	int size = snprintf(map, sizeof map, "0 %u 1\n", forkserver->root);
	if (below > 0)
		size += snprintf(map + size, sizeof map - size, "1 %u %u\n", forkserver->first, below);
	if (forkserver->count > below + 1)
		size += snprintf(map + size, sizeof map - size, "%u %u %u\n", below + 1,
		                 forkserver->root + 1, forkserver->count - below - 1);
	snprintf(path, sizeof path, "/proc/%s/%s", process, name);
	if (!write_at(AT_FDCWD, path, map))
		die("write %s", path);
}

/*
 * KERNEL: the owner of a user namespace has every capability in it; others would need CAP_SYS_ADMIN,
 * which no container has. To map uids takes CAP_SETUID as well, and that goes with the uid of root.
 */
static void become_owner(uid_t owner)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];
	if (setresuid(-1, owner, -1) != 0 || syscall(SYS_capget, &header, data) != 0)
		die("become uid %u", owner);
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	if (syscall(SYS_capset, &header, data) != 0)
		die("keep capabilities as uid %u", owner);
}

/* Only a process that stays outside may map other uids than its own. */
static pid_t fork_mapper(const struct forkserver *forkserver, int *go)
{
	int gate[2];
	char process[16], byte;
	snprintf(process, sizeof process, "%d", getpid());
	if (pipe2(gate, O_CLOEXEC) != 0)
		die("open a pipe");
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 1)
			_exit(EXIT_FAILURE);
		become_owner(forkserver->root);
		write_map(forkserver, process, "uid_map");
		write_map(forkserver, process, "gid_map");
		_exit(EXIT_SUCCESS);
	}
	close(gate[0]);
	*go = gate[1];
	return pid;
}

static void await(pid_t pid, const char *what)
{
	int status = 0;
	if (waitpid(pid, &status, 0) != pid || status != 0) {
		errno = 0;
		die("%s", what);
	}
}

static void share_userns(const struct forkserver *forkserver)
{
	struct forkserver group = *forkserver;
	group.root = getegid(); // ORDER: there it has no number before it is mapped
	if (unshare(CLONE_NEWUSER) != 0)
		die("make a user namespace");
	if (!write_at(AT_FDCWD, "/proc/self/setgroups", "deny"))
		die("give up groups");
	write_map(forkserver, "self", "uid_map");
	write_map(&group, "self", "gid_map");
}

static void make_userns(const struct forkserver *forkserver)
{
	int go;
	if (forkserver->count == 0) {
		share_userns(forkserver);
		return;
	}
	pid_t mapper = fork_mapper(forkserver, &go);
	// ORDER: before, so that it is not root whose counts boxes are counted in.
	if (setgroups(0, NULL) != 0 || setresuid(-1, forkserver->root, -1) != 0 ||
	    prctl(PR_SET_DUMPABLE, 1) != 0 || unshare(CLONE_NEWUSER) != 0)
		die("make a user namespace");
	(void)!write(go, "", 1);
	close(go);
	await(mapper, "map the uids of boxes");
	if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
		die("become uid %u", forkserver->root);
}

// ------------------------------------------------------------------- template

static char *text(const char *format, int value)
{
	char *result;
	if (asprintf(&result, format, value) < 0)
		die("format a number");
	return result;
}

static noreturn void run_bwrap(struct forkserver *forkserver, int answer)
{
	char *ending[] = {"--", text("/proc/self/fd/%d", forkserver->self), "template",
	                  text("%d", answer), "forkserver", NULL};
	char *argv[forkserver->bwrap_count + sizeof ending / sizeof *ending];
	char *environment[] = {NULL};
	memcpy(argv, forkserver->bwrap, forkserver->bwrap_count * sizeof *argv);
	memcpy(argv + forkserver->bwrap_count, ending, sizeof ending);
	keep_for_bwrap(forkserver, forkserver->self);
	keep_for_bwrap(forkserver, answer);
	keep_only(forkserver->kept, forkserver->kept_count);
	for (int i = 0; i < forkserver->kept_count; i++)
		fcntl(forkserver->kept[i], F_SETFD, 0);
	execve(argv[0], argv, environment);
	die("execute %s", argv[0]);
}

/* Bwrap's command: hands over the mount namespace it finds itself in. */
int template(int answer)
{
	int namespace = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	bool is_given = namespace >= 0 && message_send(answer, MESSAGE_TEMPLATE, 0, NULL, 0, namespace);
	return is_given ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int receive_template(int answer)
{
	static struct message message;
	enum receipt receipt;
	struct timeval patience = {TEMPLATE_PATIENCE, 0};
	setsockopt(answer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	char byte;
	errno = 0;
	// The wait is here; what comes is taken without one.
	if (recv(answer, &byte, 1, MSG_PEEK) <= 0)
		die("make the template, bwrap ended");
	receipt = message_receive(answer, &message);
	if (receipt != RECEIVED_ALL || message.fd_count != 1)
		die("make the template, its answer is no namespace");
	return message.fds[0];
}

static void enter_template(struct forkserver *forkserver)
{
	int answer[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, answer) != 0)
		die("open a socket");
	pid_t bwrap = fork();
	if (bwrap < 0)
		die("fork");
	if (bwrap == 0)
		run_bwrap(forkserver, answer[1]);
	close(answer[1]);
	int namespace = receive_template(answer[0]);
	await(bwrap, "make the template, bwrap failed");
	if (setns(namespace, CLONE_NEWNS) != 0)
		die("enter the template");
	close(namespace);
	close(answer[0]);
}

// ----------------------------------------------------------------------------

static void keep_ours(struct forkserver *forkserver)
{
	int ours[] = {forkserver->control, forkserver->self, forkserver->leaf, forkserver->zygote};
	int count = forkserver->kept_count;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (ours[i] >= 0)
			keep_for_bwrap(forkserver, ours[i]);
	keep_only(forkserver->kept, forkserver->kept_count);
	forkserver->kept_count = count;
}

/* All that is the same for each box, and is inherited. */
static void prepare(const struct forkserver *forkserver)
{
	if (forkserver->leaf >= 0 && !write_at(forkserver->leaf, "cgroup.procs", "0"))
		die("join the cgroup of the forkserver");
	if (forkserver->leaf >= 0 && syscall(SYS_clone3, NULL, 0) < 0 && errno == ENOSYS)
		die("clone into a cgroup");
	umask(022);
	// KERNEL: a core_pattern that is a pipe is run at 0, too, but not at 1: see core(5).
	if (!limit(RLIMIT_CORE, 1) || !drop_privileges())
		die("limit boxes");
	errno = 0;
	if (!seccomp_build())
		die("build the filter");
}

/* Of those on the host, what it takes to clone a box and to make it what it is. */
static bool keep_capabilities(void)
{
	static const int kept[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_SETGID,
	                           CAP_SETUID, CAP_NET_ADMIN,    CAP_SYS_ADMIN};
	struct __user_cap_data_struct data[2] = {0};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		data[CAP_TO_INDEX(kept[i])].permitted |= CAP_TO_MASK(kept[i]);
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	return set_capabilities(data);
}

int forkserver(int argc, char **argv)
{
	struct forkserver forkserver = {.control = -1, .self = -1, .leaf = -1, .zygote = -1};

	parse(&forkserver, argc, argv);
	keep_ours(&forkserver);
	prctl(PR_SET_NAME, "ebb-forkserver");
	reset_signals();
	prepare(&forkserver);
	if (forkserver.has_userns)
		make_userns(&forkserver);
	else if (setgroups(0, NULL) != 0)
		die("give up groups");
	enter_template(&forkserver);
	prctl(PR_SET_DUMPABLE, 0);
	if (unshare(CLONE_NEWUTS) != 0 || sethostname("box", 3) != 0)
		die("name the boxes");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    (!forkserver.has_userns && !keep_capabilities()))
		die("give up privileges");
	keep_only((int[]){forkserver.control, forkserver.zygote}, 2);
	if (forkserver.zygote >= 0)
		zygote_exec(forkserver.control, forkserver.zygote);
	clone_box_serve(forkserver.control, &forkserver.title);
	return EXIT_SUCCESS;
}
