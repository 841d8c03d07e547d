/*
 * How a forkserver, or a zygote, makes a box: a clone of itself as pid 1, in namespaces and a cgroup
 * of its own, that mounts what is its own, gives up what its maker may do, and takes its place in inside.c.
 */
#include <linux/capability.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "init.h"

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

// ---------------------------------------------------------------------- child

/* The last message of a box that could not be made. */
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

/* KERNEL: without the NUL at its end it is one string, see get_mm_proctitle. */
void take_title(const struct title *title, const char *text)
{
	memset(title->begin, 0, title->size);
	title->begin[title->size - 1] = ' ';
	snprintf(title->begin, title->size - 1, "%s", text);
}

static bool mount_tmpfs(const char *path, const char *mode, uint64_t size, uid_t uid)
{
	char options[128];
	snprintf(options, sizeof options, "size=%llu,mode=%s,uid=%u,gid=%u", (unsigned long long)size,
	         mode, uid, uid);
	return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0;
}

/*
 * KERNEL: the sysctls of the ipc and pid namespaces belong to the root of the
 * userns, whose uid may be that of boxes. Returns what it was before it was
 * closed, for a last message.
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

bool set_capabilities(const struct __user_cap_data_struct *data)
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
static noreturn void grow(const struct title *title, const struct order *order, const int *fds)
{
	int control = fds[0];
	char name[sizeof order->name + sizeof "ebb-init inside "];
	snprintf(name, sizeof name, "ebb-init inside %s", order->name);
	// ORDER: first. By this argument a box in the making is found where there are no cgroups.
	take_title(title, name);
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
	// No process in the box can raise it again: that takes a capability in its user namespace.
	must(control, write_at(sysctls, "user/max_user_namespaces", "0"), "forbid user namespaces");
	must(control, drop_capabilities(), "drop capabilities");
	exit(inside(control, -1));
}

// --------------------------------------------------------------------- orders

/* KERNEL: a message with descriptors is received separately, and such a small one as a whole. */
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

/* KERNEL: a child of our parent has the exit signal that we have, and may not name one. */
static uint64_t clone_flags(void)
{
	return CLONE_PARENT | CLONE_PIDFD | NAMESPACES |
	       (tid_address ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0);
}

static pid_t clone_into(int leaf, int *pidfd)
{
	struct clone_args args = {
		.flags = clone_flags() | CLONE_INTO_CGROUP,
		.child_tid = tid_address,
		.pidfd = (uintptr_t)pidfd,
		.cgroup = leaf,
	};
	return syscall(SYS_clone3, &args, sizeof args);
}

/*
 * KERNEL: containers have no clone3, whose flags their filter could not see. Without a stack it is
 * a fork; its last two arguments are in another order on arm64, see clone(2).
 */
static pid_t clone_here(int *pidfd)
{
#ifdef __aarch64__
	return syscall(SYS_clone, clone_flags(), NULL, pidfd, NULL, tid_address);
#else
	return syscall(SYS_clone, clone_flags(), NULL, pidfd, tid_address, NULL);
#endif
}

static void make(const struct title *title, const struct order *order, const int *fds)
{
	int pidfd = -1;
	pid_t pid = order->flags & ORDER_HAS_LEAF ? clone_into(fds[1], &pidfd) : clone_here(&pidfd);
	if (pid == 0)
		grow(title, order, fds);
	uint32_t body = pid;
	if (pid < 0)
		tell_failure(fds[0], "clone the init of the box", errno);
	else
		message_send(fds[0], MESSAGE_LAUNCHED, 0, &body, sizeof body, pidfd);
	close_fd(&pidfd);
	for (uint32_t i = 0; i < order->fds; i++)
		close(fds[i]);
}

/* Makes boxes until the engine hangs up. */
void clone_box_serve(int control, const struct title *title)
{
	struct order order;
	int fds[ORDER_FDS_MAX];
	fcntl(control, F_SETFD, FD_CLOEXEC);
	if (!message_send(control, MESSAGE_READY, 0, NULL, 0, -1))
		return;
	while (receive_order(control, &order, fds))
		make(title, &order, fds);
}
