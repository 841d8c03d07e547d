/*
 * The nursery: one process that stays, and makes boxes by clone3(2) where bwrap would be executed
 * for each.
 *
 * bwrap makes the file system of a box for it, once: the template, whose mount namespace we enter.
 * A box is then a child of the engine (CLONE_PARENT) in namespaces of its own, copied from ours; it
 * mounts what is its own, gives up what its maker may do, and is pid 1.
 *
 * Who is not root with all his rights first makes a user namespace in which he is: the estate.
 * KERNEL: what a user is allowed of watches, queues and pending signals is counted for the owner of
 * each user namespace above him, too. So boxes have one between them and the host only where it
 * must be, or one of them could use up what all others have.
 *
 * We are told what to make, by struct order, and hold nothing of a box once it is cloned.
 */
#include <getopt.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "init.h"

#define KEEP_MAX 16
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

struct nursery {
	int control; /* where orders come from */
	int self;    /* ebb-init, for the template */
	int leaf;    /* our own cgroup, -1: none */
	int kept[KEEP_MAX], kept_count; /* for bwrap */
	bool has_estate;
	uid_t root, first, count; /* its host uids: ours, and those of boxes; count 0: all share ours */
	char **bwrap;
	int bwrap_count;
	char *title; /* what /proc shows as our command line */
	size_t title_size;
};

// -------------------------------------------------------------------- options

static uint32_t number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	errno = EINVAL;
	if (end == text || *end != '\0' || value > UINT32_MAX)
		die("read the number %s", text);
	return value;
}

static void keep_for_bwrap(struct nursery *nursery, int fd)
{
	errno = E2BIG;
	if (nursery->kept_count == KEEP_MAX)
		die("take descriptor %d", fd);
	nursery->kept[nursery->kept_count++] = fd;
}

static void parse(struct nursery *nursery, int argc, char **argv)
{
	static const struct option options[] = {
		{"control", 1, 0, 'C'}, {"self", 1, 0, 's'},  {"leaf", 1, 0, 'l'},  {"keep", 1, 0, 'k'},
		{"root", 1, 0, 'r'},    {"first", 1, 0, 'f'}, {"count", 1, 0, 'c'}, {0},
	};
	for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;)
		switch (option) {
		case 'C': nursery->control = number(optarg); break;
		case 's': nursery->self = number(optarg); break;
		case 'l': nursery->leaf = number(optarg); break;
		case 'k': keep_for_bwrap(nursery, number(optarg)); break;
		case 'r':
			nursery->has_estate = true;
			nursery->root = number(optarg);
			break;
		case 'f': nursery->first = number(optarg); break;
		case 'c': nursery->count = number(optarg); break;
		default: exit(EXIT_FAILURE);
		}
	nursery->bwrap = argv + optind;
	nursery->bwrap_count = argc - optind;
	errno = EINVAL;
	if (nursery->control < 0 || nursery->self < 0 || !nursery->bwrap[0])
		die("start without --control, --self and the path of bwrap");
	nursery->title = argv[-1];
	char *last = argv[argc - 1];
	nursery->title_size = last + strlen(last) + 1 - nursery->title;
}

// --------------------------------------------------------------------- estate

/*
 * Our uid is 0 there and `root` here; each uid of a box is its distance from `first`, plus one as
 * long as it is below ours. KERNEL: no uid can be mapped twice.
 */
static void write_map(const struct nursery *nursery, const char *process, const char *name)
{
	char path[64], map[128];
	uint32_t below = nursery->count ? nursery->root - nursery->first : 0;
	int size = snprintf(map, sizeof map, "0 %u 1\n", nursery->root);
	if (below > 0)
		size += snprintf(map + size, sizeof map - size, "1 %u %u\n", nursery->first, below);
	if (nursery->count > below + 1)
		size += snprintf(map + size, sizeof map - size, "%u %u %u\n", below + 1,
		                 nursery->root + 1, nursery->count - below - 1);
	snprintf(path, sizeof path, "/proc/%s/%s", process, name);
	if (!write_at(AT_FDCWD, path, map))
		die("write %s", path);
}

/* Only who stays outside may map other uids than his own. */
static pid_t fork_mapper(const struct nursery *nursery, int *go)
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
		write_map(nursery, process, "uid_map");
		write_map(nursery, process, "gid_map");
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

static void share_estate(const struct nursery *nursery)
{
	if (unshare(CLONE_NEWUSER) != 0)
		die("make a user namespace");
	if (!write_at(AT_FDCWD, "/proc/self/setgroups", "deny"))
		die("give up groups");
	write_map(nursery, "self", "uid_map");
	write_map(nursery, "self", "gid_map");
}

static void found_estate(const struct nursery *nursery)
{
	int go;
	if (nursery->count == 0) {
		share_estate(nursery);
		return;
	}
	pid_t mapper = fork_mapper(nursery, &go);
	// ORDER: before, so that it is not root whose counts boxes are counted in.
	if (setgroups(0, NULL) != 0 || setresuid(-1, nursery->root, -1) != 0 ||
	    unshare(CLONE_NEWUSER) != 0)
		die("make a user namespace");
	(void)!write(go, "", 1);
	close(go);
	await(mapper, "map the uids of boxes");
	if (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)
		die("become uid %u", nursery->root);
}

// ------------------------------------------------------------------- template

static char *text(const char *format, int value)
{
	char *result;
	if (asprintf(&result, format, value) < 0)
		die("format a number");
	return result;
}

static noreturn void run_bwrap(struct nursery *nursery, int answer)
{
	char *ending[] = {"--", text("/proc/self/fd/%d", nursery->self), "template",
	                  text("%d", answer), "nursery", NULL};
	char *argv[nursery->bwrap_count + sizeof ending / sizeof *ending];
	char *environment[] = {NULL};
	memcpy(argv, nursery->bwrap, nursery->bwrap_count * sizeof *argv);
	memcpy(argv + nursery->bwrap_count, ending, sizeof ending);
	keep_for_bwrap(nursery, nursery->self);
	keep_for_bwrap(nursery, answer);
	keep_only(nursery->kept, nursery->kept_count);
	for (int i = 0; i < nursery->kept_count; i++)
		fcntl(nursery->kept[i], F_SETFD, 0);
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

static void enter_template(struct nursery *nursery)
{
	int answer[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, answer) != 0)
		die("open a socket");
	pid_t bwrap = fork();
	if (bwrap < 0)
		die("fork");
	if (bwrap == 0)
		run_bwrap(nursery, answer[1]);
	close(answer[1]);
	int namespace = receive_template(answer[0]);
	await(bwrap, "make the template, bwrap failed");
	if (setns(namespace, CLONE_NEWNS) != 0)
		die("enter the template");
	close(namespace);
	close(answer[0]);
}

// ---------------------------------------------------------------------- child

/* The last word of a box that is none. */
static void tell_failure(int control, const char *what, int error)
{
	char text[256];
	const char *name = error ? strerrorname_np(error) : NULL;
	int size = snprintf(text, sizeof text, name ? "cannot %s: %s" : "cannot %s", what, name);
	message_send(control, MESSAGE_UNMADE, 0, text, size, -1);
}

static noreturn void fail(int control, const char *what)
{
	tell_failure(control, what, errno);
	_exit(EXIT_FAILURE);
}

#define must(control, condition, what)                                                             \
	do {                                                                                       \
		if (!(condition))                                                                  \
			fail(control, what);                                                       \
	} while (0)

/*
 * ORDER: first. By this word a box in the making is found where there are no cgroups.
 * KERNEL: without the NUL at its end it is one string, see get_mm_proctitle.
 */
static void take_title(const struct nursery *nursery, const char *name)
{
	memset(nursery->title, 0, nursery->title_size);
	nursery->title[nursery->title_size - 1] = ' ';
	snprintf(nursery->title, nursery->title_size - 1, "ebb-init inside %s", name);
}

static bool mount_tmpfs(const char *path, const char *mode, uint64_t size, uid_t uid)
{
	char options[128];
	snprintf(options, sizeof options, "size=%llu,mode=%s,uid=%u,gid=%u", (unsigned long long)size,
	         mode, uid, uid);
	return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

/*
 * KERNEL: the sysctls of the ipc and pid namespaces belong to root of the estate, who may have the
 * uid of boxes. Gives what it was before it was closed, for a last word.
 */
static int close_sysctls(int control)
{
	const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
	int open_ones = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(control, open_ones >= 0, "open /proc/sys");
	must(control, mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) == 0, "bind /proc/sys");
	must(control,
	     mount(NULL, "/proc/sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY | flags, NULL) == 0,
	     "make /proc/sys read-only");
	return open_ones;
}

static void mount_own(int control, const struct order *order)
{
	uid_t uid = order->uid;
	must(control, mount_tmpfs("/dev/shm", "1777", order->temporary, uid), "mount /dev/shm");
	must(control, mount_tmpfs("/tmp", "1777", order->temporary, uid), "mount /tmp");
	must(control, mount_tmpfs("/workspace", "0755", order->disk, uid), "mount /workspace");
	must(control, mkdir("/tmp/home", 0700) == 0 && chown("/tmp/home", uid, uid) == 0,
	     "make /tmp/home");
	must(control,
	     mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
	           "newinstance,ptmxmode=0666,mode=620") == 0,
	     "mount /dev/pts");
	must(control,
	     mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0,
	     "mount /proc");
}

static bool raise_loopback(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
	close_fd(&fd);
	return is_up;
}

/* From here on nothing of our maker is left to us, but that our namespaces are his. */
static void become_user(int control, uid_t uid)
{
	char map[32];
	must(control, setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0,
	     "become the user of the box");
	prctl(PR_SET_DUMPABLE, 1); // or /proc/self were not ours
	must(control, unshare(CLONE_NEWUSER) == 0, "make a user namespace");
	snprintf(map, sizeof map, "%d %u 1\n", UID_INSIDE, uid);
	must(control,
	     write_at(AT_FDCWD, "/proc/self/setgroups", "deny") &&
	             write_at(AT_FDCWD, "/proc/self/uid_map", map) &&
	             write_at(AT_FDCWD, "/proc/self/gid_map", map),
	     "map the user of the box");
}

static bool set_capabilities(const struct __user_cap_data_struct *data)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	return syscall(SYS_capset, &header, data) == 0;
}

static bool drop_capabilities(void)
{
	struct __user_cap_data_struct none[2] = {0};
	// KERNEL: EINVAL after the last one there is.
	for (int i = 0; i < 64; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0 && errno != EINVAL)
			return false;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 && set_capabilities(none);
}

/* Pid 1 of its box from the first instruction on; its engine's end is its own from inside() on. */
static noreturn void grow(const struct nursery *nursery, const struct order *order, const int *fds)
{
	int control = fds[0];
	take_title(nursery, order->name);
	prctl(PR_SET_NAME, "ebb-init");
	for (uint32_t i = 0; i < order->tasks; i++)
		must(control, write(fds[order->fds - order->tasks + i], "0", 1) == 1, "join a cgroup");
	// ORDER: the root of a cgroup namespace is where its maker is.
	must(control, !(order->flags & ORDER_HIDES_CGROUPS) || unshare(CLONE_NEWCGROUP) == 0,
	     "make a cgroup namespace");
	mount_own(control, order);
	must(control, raise_loopback(), "raise the loopback");
	int sysctls = close_sysctls(control);
	must(control, chdir("/") == 0, "change to /");
	become_user(control, order->uid);
	// Nobody in the box can ever raise it again: that takes a capability in its user namespace.
	must(control, write_at(sysctls, "user/max_user_namespaces", "0"), "forbid user namespaces");
	must(control, drop_capabilities(), "drop capabilities");
	exit(inside(control, -1));
}

// --------------------------------------------------------------------- orders

/* KERNEL: what is sent with descriptors is received by itself, and so small a thing as a whole. */
static bool receive_order(int control, struct order *order, int *fds)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(ORDER_FDS_MAX * sizeof(int))];
	} ancillary;
	struct iovec bytes = {order, sizeof *order};
	struct msghdr part = {.msg_iov = &bytes,
	                      .msg_iovlen = 1,
	                      .msg_control = &ancillary,
	                      .msg_controllen = sizeof ancillary};
	ssize_t n;
	do
		n = recvmsg(control, &part, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	struct cmsghdr *c = CMSG_FIRSTHDR(&part);
	size_t count = c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
	                       ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
	                       : 0;
	order->name[sizeof order->name - 1] = '\0';
	errno = EPROTO;
	if (n != sizeof *order || (part.msg_flags & MSG_CTRUNC) || count != order->fds || count == 0 ||
	    order->tasks + (order->flags & ORDER_HAS_LEAF ? 1 : 0) + 1 != count)
		die("understand an order of %zd bytes with %zu descriptors", n, count);
	memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	return true;
}

static void make(const struct nursery *nursery, const struct order *order, const int *fds)
{
	int pidfd = -1;
	bool has_leaf = order->flags & ORDER_HAS_LEAF;
	// KERNEL: a child of our parent has the exit signal that we have, and may not name one.
	struct clone_args args = {
		.flags = CLONE_PARENT | CLONE_PIDFD | NAMESPACES | (has_leaf ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)&pidfd,
		.cgroup = has_leaf ? fds[1] : 0,
	};
	pid_t pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0)
		grow(nursery, order, fds);
	uint32_t body = pid;
	if (pid < 0)
		tell_failure(fds[0], "clone the init of the box", errno);
	else
		message_send(fds[0], MESSAGE_LAUNCHED, 0, &body, sizeof body, pidfd);
	close_fd(&pidfd);
	for (uint32_t i = 0; i < order->fds; i++)
		close(fds[i]);
}

/* All that is the same for each box, and is inherited. */
static void prepare(const struct nursery *nursery)
{
	if (nursery->leaf >= 0 && !write_at(nursery->leaf, "cgroup.procs", "0"))
		die("join the cgroup of the nursery");
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
	static const int kept[] = {CAP_CHOWN, CAP_SETGID, CAP_SETUID, CAP_NET_ADMIN, CAP_SYS_ADMIN};
	struct __user_cap_data_struct data[2] = {0};
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		data[CAP_TO_INDEX(kept[i])].permitted |= CAP_TO_MASK(kept[i]);
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted;
	return set_capabilities(data);
}

int nursery(int argc, char **argv)
{
	struct nursery nursery = {.control = -1, .self = -1, .leaf = -1};
	struct order order;
	int fds[ORDER_FDS_MAX];

	parse(&nursery, argc, argv);
	keep_for_bwrap(&nursery, nursery.control);
	keep_for_bwrap(&nursery, nursery.self);
	if (nursery.leaf >= 0)
		keep_for_bwrap(&nursery, nursery.leaf);
	keep_only(nursery.kept, nursery.kept_count);
	nursery.kept_count -= nursery.leaf >= 0 ? 3 : 2;
	prctl(PR_SET_NAME, "ebb-nursery");
	reset_signals();
	prepare(&nursery);
	if (nursery.has_estate)
		found_estate(&nursery);
	else if (setgroups(0, NULL) != 0)
		die("give up groups");
	enter_template(&nursery);
	prctl(PR_SET_DUMPABLE, 0);
	if (unshare(CLONE_NEWUTS) != 0 || sethostname("box", 3) != 0)
		die("name the boxes");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    (!nursery.has_estate && !keep_capabilities()))
		die("give up privileges");
	keep_only(&nursery.control, 1);
	fcntl(nursery.control, F_SETFD, FD_CLOEXEC);
	if (!message_send(nursery.control, MESSAGE_READY, 0, NULL, 0, -1))
		return EXIT_SUCCESS;
	while (receive_order(nursery.control, &order, fds))
		make(&nursery, &order, fds);
	return EXIT_SUCCESS;
}
