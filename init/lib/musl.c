// What musl 1.2.3 lacks, or does otherwise than glibc: names of errors, system calls that came after
// Linux 5.2, scripts without #!.
#include <limits.h>
#include <sys/syscall.h>

#include "init.h"

/* Made by the Makefile out of <errno.h>; of two names of a number the last listed one holds. */
static const char *const NAMES[] = {
#include "build/errno.inc"
};

const char *strerrorname_np(int error)
{
	return error >= 0 && (size_t)error < sizeof NAMES / sizeof *NAMES ? NAMES[error] : NULL;
}

int close_range(unsigned from, unsigned to, int flags)
{
	return syscall(SYS_close_range, from, to, flags);
}

int pidfd_open(pid_t pid, unsigned flags)
{
	return syscall(SYS_pidfd_open, pid, flags);
}

int pidfd_send_signal(int pidfd, int signal, siginfo_t *info, unsigned flags)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signal, info, flags);
}

int open_tree(int directory, const char *path, unsigned flags)
{
	return syscall(SYS_open_tree, directory, path, flags);
}

int move_mount(int from, const char *source, int to, const char *target, unsigned flags)
{
	return syscall(SYS_move_mount, from, source, to, target, flags);
}

int mount_setattr(int directory, const char *path, unsigned flags, struct mount_attr *attributes,
                  size_t size)
{
	return syscall(SYS_mount_setattr, directory, path, flags, attributes, size);
}

static void execute(const char *file, char *const *argv)
{
	size_t count = 1;
	execve(file, argv, environ);
	if (errno != ENOEXEC)
		return;
	while (argv[count - 1])
		count++;
	const char **words = calloc(count + 2, sizeof *words);
	if (!words)
		return;
	words[0] = "/bin/sh";
	words[1] = file;
	for (size_t i = 1; i < count; i++)
		words[i + 1] = argv[i];
	execve(words[0], (char *const *)words, environ);
	free(words);
}

/* A directory of the PATH that lacks the file is passed over, as one that cannot be looked into is. */
static bool may_lie_elsewhere(int error)
{
	return error == ENOENT || error == ESTALE || error == ENOTDIR || error == ENODEV ||
	       error == ETIMEDOUT || error == EACCES;
}

int execvp_or_sh(const char *file, char *const *argv)
{
	char name[PATH_MAX + NAME_MAX + 2];
	const char *path = getenv("PATH");
	bool is_denied = false;
	errno = strlen(file) > NAME_MAX && !strchr(file, '/') ? ENAMETOOLONG : ENOENT;
	if (file[0] == '\0' || errno == ENAMETOOLONG)
		return -1;
	if (strchr(file, '/')) {
		execute(file, argv);
		return -1;
	}
	for (const char *at = path ? path : "/bin:/usr/bin", *end; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		if (end - at >= PATH_MAX)
			continue;
		snprintf(name, sizeof name, "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "", file);
		execute(name, argv);
		if (!may_lie_elsewhere(errno))
			return -1;
		is_denied |= errno == EACCES;
	}
	if (is_denied)
		errno = EACCES;
	return -1;
}
