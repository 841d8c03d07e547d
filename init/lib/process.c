// What the roles need of processes, descriptors and time.
#include <dirent.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "init.h"

/* One line for the engine's log; errno 0 adds nothing. */
void complain(const char *format, ...)
{
	const char *name = errno ? strerrorname_np(errno) : NULL;
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	const char *line = name ? "ebb-init: cannot %s: %s\n" : "ebb-init: cannot %s\n";
	dprintf(STDERR_FILENO, line, text, name);
}

noreturn void become(char **argv)
{
	execv(argv[0], argv);
	int status = errno == ENOENT ? NOT_FOUND : NOT_EXECUTED;
	complain("execute %s", argv[0]);
	_exit(status);
}

/* Of an option; -1 is one. */
long number(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);
	errno = EINVAL;
	if (end == text || *end != '\0' || value < -1 || value > UINT32_MAX)
		die("read the number %s", text);
	return value;
}

/*
 * By the kernel's own calls: a libc leaves out the signals that it uses itself, and musl also glibc's
 * SIGRTMIN. All zeros is SIG_DFL.
 */
void reset_signal(int number)
{
	const uint64_t none[4] = {0};
	syscall(SYS_rt_sigaction, number, none, NULL, sizeof(uint64_t));
}

// KERNEL: the mask and ignored signals survive exec, and the threads of a JVM block some.
void reset_signals(void)
{
	for (int number = 1; number < NSIG; number++)
		reset_signal(number);
	unblock_signals();
}

sigset_t signal_set(uint64_t bits)
{
	sigset_t set = {0};
	memcpy(&set, &bits, sizeof bits);
	return set;
}

void block_all_signals(sigset_t *old)
{
	const uint64_t all = ~0ull;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, old, sizeof all);
}

void unblock_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Sets the soft and the hard limit, but never above the hard limit there is. */
bool limit_other(pid_t pid, int resource, uint64_t value)
{
	struct rlimit old;
	if (prlimit(pid, resource, NULL, &old) != 0)
		return false;
	rlim_t most = value < old.rlim_max ? value : old.rlim_max;
	return prlimit(pid, resource, &(struct rlimit){most, most}, NULL) == 0;
}

bool limit(int resource, uint64_t value)
{
	return limit_other(0, resource, value);
}

/* A box must not inherit what its operator may have given the engine. */
bool drop_privileges(void)
{
	// KERNEL: with CAP_SYS_RESOURCE this is also how low a member of the box may set it again.
	char text[16] = "";
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0 && text[0] == '-')
		(void)!pwrite(fd, "0", 1, 0);
	close_fd(&fd);
	return limit(RLIMIT_RTPRIO, 0) && limit(RLIMIT_NICE, 0);
}

/* Linux before 5.9: those that are there, one by one. */
static bool close_each(unsigned from, unsigned to)
{
	DIR *fds = opendir("/proc/self/fd");
	if (!fds)
		return false;
	for (struct dirent *entry; (entry = readdir(fds));) {
		unsigned fd = atoi(entry->d_name);
		if (fd >= from && fd <= to && fd != (unsigned)dirfd(fds))
			close(fd);
	}
	closedir(fds);
	return true;
}

static bool close_all(unsigned from, unsigned to)
{
	return close_range(from, to, 0) == 0 || (errno == ENOSYS && close_each(from, to));
}

/* Closes all descriptors above stderr but these. */
void keep_only(const int *fds, size_t count)
{
	for (unsigned from = STDERR_FILENO + 1;;) {
		unsigned next = ~0u;
		for (size_t i = 0; i < count; i++)
			if (fds[i] >= 0 && (unsigned)fds[i] >= from && (unsigned)fds[i] < next)
				next = fds[i];
		if (next > from && !close_all(from, next - 1))
			die("close descriptors");
		if (next == ~0u)
			return;
		from = next + 1;
	}
}

/* /dev/null as stdin, stdout and stderr. */
void silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		die("open /dev/null");
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close(null);
}

uintptr_t tid_address;

/*
 * fork(2), but the child is born in the cgroup `leaf` (-1: in ours). Where the
 * kernel cannot do it the child joins by itself, and finds in *join_error
 * whether it could.
 */
pid_t fork_into(int leaf, int *join_error)
{
	*join_error = 0;
	if (leaf >= 0) {
		struct clone_args args = {
			.flags = CLONE_INTO_CGROUP |
			         (tid_address ? CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID : 0),
			.child_tid = tid_address,
			.exit_signal = SIGCHLD,
			.cgroup = leaf};
		pid_t pid = syscall(SYS_clone3, &args, sizeof args);
		if (pid >= 0 || (errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP))
			return pid;
	}
	pid_t pid = fork();
	if (pid == 0 && leaf >= 0 && !write_at(leaf, "cgroup.procs", "0"))
		*join_error = errno;
	return pid;
}

/* fork(2), and the child joins the cgroup by its file; it finds in *join_error whether it could. */
pid_t fork_and_join(int procs, int *join_error)
{
	*join_error = 0;
	pid_t pid = fork();
	if (pid == 0 && write(procs, "0", 1) != 1)
		*join_error = errno;
	return pid;
}

bool write_at(int directory, const char *name, const char *text)
{
	int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, text, strlen(text)) >= 0;
	close_fd(&fd);
	return is_written;
}

/* Also records that there is none; keeps errno. */
void close_fd(int *fd)
{
	int error = errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = error;
}

uint64_t now_nanos(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

uint64_t now(void)
{
	return now_nanos() / 1000000;
}

static uint64_t microseconds(struct timeval time)
{
	return time.tv_sec * 1000000ull + time.tv_usec;
}

uint64_t cpu_of_the_dead(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_CHILDREN, &usage) == 0
	               ? microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
	               : 0;
}

uint64_t after(uint64_t milliseconds)
{
	uint64_t start = now();
	return milliseconds < NEVER - start ? start + milliseconds : NEVER;
}
