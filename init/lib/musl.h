/* What musl 1.2.3 lacks, or does otherwise than glibc; defined in musl.c. The Makefile includes it. */
#ifndef EBB_MUSL_H
#define EBB_MUSL_H

#include <linux/mount.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>

#define OPEN_TREE_CLOEXEC O_CLOEXEC
#ifndef __NR_quotactl_fd
#define __NR_quotactl_fd 443 /* the same number on all architectures */
#endif

const char *strerrorname_np(int error);
int close_range(unsigned from, unsigned to, int flags);
int pidfd_open(pid_t pid, unsigned flags);
int pidfd_send_signal(int pidfd, int signal, siginfo_t *info, unsigned flags);
int open_tree(int directory, const char *path, unsigned flags);
int move_mount(int from, const char *source, int to, const char *target, unsigned flags);
int mount_setattr(int directory, const char *path, unsigned flags, struct mount_attr *attributes,
                  size_t size);

/* As glibc has it: a file that the kernel cannot execute is a script of /bin/sh. */
#define execvp execvp_or_sh
int execvp_or_sh(const char *file, char *const *argv);

#endif
