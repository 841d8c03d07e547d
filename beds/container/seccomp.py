"""Docker's default seccomp profile (as of engine 28) for x86-64 and arm64, and Ebb's: the same and what bubblewrap needs.

A name that the runtime's libseccomp does not know is skipped. The 2.5.4 of Debian 12 does not know NEWER and lsm_*; with
runc they answer ENOSYS, as every call does whose number is above all in the filter.
"""

import json
import platform

ALWAYS = """
accept accept4 access adjtimex alarm bind brk cachestat capget capset chdir chmod chown chown32
clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64
clock_nanosleep clock_nanosleep_time64 close close_range connect copy_file_range creat dup dup2 dup3
epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old
eventfd eventfd2 execve execveat exit exit_group faccessat faccessat2 fadvise64 fadvise64_64 fallocate
fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr
flistxattr flock fork fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate
ftruncate64 futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake futimesat
get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid getegid32 geteuid geteuid32 getgid
getgid32 getgroups getgroups32 getitimer getpeername getpgid getpgrp getpid getppid getpriority getrandom
getresgid getresgid32 getresuid getresuid32 getrlimit getrusage getsid getsockname getsockopt gettid
gettimeofday getuid getuid32 getxattr
inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents
io_pgetevents_time64 io_setup io_submit ioctl ioprio_get ioprio_set ipc kill
landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lchown32 lgetxattr link linkat listen
listxattr llistxattr _llseek lremovexattr lseek lsetxattr lstat lstat64
madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2
mlockall mmap mmap2 mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64
mq_timedsend mq_timedsend_time64 mq_unlink mremap msgctl msgget msgrcv msgsnd msync munlock munlockall munmap
name_to_handle_at nanosleep newfstatat _newselect open openat openat2
pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll ppoll_time64 prctl
pread64 preadv preadv2 prlimit64 process_mrelease pselect6 pselect6_time64 pwrite64 pwritev pwritev2
read readahead readlink readlinkat readv recv recvfrom recvmmsg recvmmsg_time64 recvmsg remap_file_pages
removexattr rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask
rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo
sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64 sched_setaffinity sched_setattr
sched_setparam sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop
semtimedop_time64 send sendfile sendfile64 sendmmsg sendmsg sendto set_robust_list set_thread_area
set_tid_address setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setitimer setpgid
setpriority setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit
setsid setsockopt setuid setuid32 setxattr shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4
sigprocmask sigreturn socketcall socketpair splice stat stat64 statfs statfs64 statx symlink symlinkat sync
sync_file_range syncfs sysinfo
tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime
timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64 times tkill
truncate truncate64 ugetrlimit umask uname unlink unlinkat utime utimensat utimensat_time64 utimes
vfork vmsplice wait4 waitid waitpid write writev
""".split()

NEWER = """
getxattrat listmount listxattrat mseal removexattrat setxattrat statmount uretprobe
""".split()

SINCE_4_8 = ["process_vm_readv", "process_vm_writev", "ptrace"]

BY_MACHINE = {
    "x86_64": ["arch_prctl", "modify_ldt"],
    "aarch64": ["arm_fadvise64_64", "arm_sync_file_range", "sync_file_range2", "breakpoint", "cacheflush", "set_tls"],
}

ARCHITECTURES = {
    "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    "aarch64": ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
}

# Each of these families; not AF_ALG (38), AF_VSOCK (40) and what is long dead.
FAMILIES_BELOW = 12
FAMILIES = [13, 14, 15, 16, 17, 18, 21, 22, 24, 26, 27, 28, 29, 30, 31, 32, 33, 35, 36, 39, 41, 42, 43, 44, 45]

PERSONALITIES = [0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF]

BY_CAPABILITY = {
    "CAP_DAC_READ_SEARCH": "open_by_handle_at",
    # KERNEL: not pivot_root, which no capability brings.
    "CAP_SYS_ADMIN": """bpf clone clone3 fanotify_init fsconfig fsmount fsopen fspick lookup_dcookie lsm_get_self_attr
        lsm_list_modules lsm_set_self_attr mount mount_setattr move_mount open_tree perf_event_open quotactl quotactl_fd
        setdomainname sethostname setns syslog umount umount2 unshare""",
    "CAP_SYS_BOOT": "reboot",
    "CAP_SYS_CHROOT": "chroot",
    "CAP_SYS_MODULE": "delete_module init_module finit_module",
    "CAP_SYS_PACCT": "acct",
    "CAP_SYS_PTRACE": "kcmp pidfd_getfd process_madvise process_vm_readv process_vm_writev ptrace",
    "CAP_SYS_RAWIO": "iopl ioperm",
    "CAP_SYS_TIME": "settimeofday stime clock_settime clock_settime64",
    "CAP_SYS_TTY_CONFIG": "vhangup",
    "CAP_SYS_NICE": "get_mempolicy mbind set_mempolicy set_mempolicy_home_node",
    "CAP_SYSLOG": "syslog",
    "CAP_BPF": "bpf",
    "CAP_PERFMON": "perf_event_open",
}

NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
ENOSYS = 38

# What bubblewrap needs beyond docker's default to make a box, and no more; unshare is for --disable-userns.
FOR_A_BOX = ["mount", "pivot_root", "sethostname", "umount2", "unshare"]

# And for the forkserver, which clones boxes in a user namespace that there is already. It adds little: a process that
# may make a user namespace may make all others in it by unshare, and enter only those that are below his own.
FOR_A_FORKSERVER = ["clone", "setns"]


def allow(names, *args):
    rule = {"names": list(names), "action": "SCMP_ACT_ALLOW"}
    return {**rule, "args": list(args)} if args else rule


def argument(op, value, two=None):
    condition = {"index": 0, "value": value, "op": "SCMP_CMP_" + op}
    return condition if two is None else {**condition, "valueTwo": two}


def common_rules(machines):
    yield allow(ALWAYS + NEWER)
    yield allow(SINCE_4_8)
    yield allow(name for machine in machines for name in BY_MACHINE[machine])
    yield allow(["socket"], argument("LT", FAMILIES_BELOW))
    yield from (allow(["socket"], argument("EQ", family)) for family in FAMILIES)
    yield from (allow(["personality"], argument("EQ", value)) for value in PERSONALITIES)


# libc falls back to clone when clone3 is not there.
NO_CLONE3 = {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": ENOSYS}


def profile(machines, rules):
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "architectures": [name for machine in machines for name in ARCHITECTURES[machine]],
        "syscalls": list(rules),
    }


def docker_default(capabilities):
    """As docker gives it to the runtime for a container with these capabilities."""
    machines = [platform.machine()]
    rules = list(common_rules(machines))
    rules += [allow(BY_CAPABILITY[name].split()) for name in BY_CAPABILITY if name in capabilities]
    # Threads and processes, but no namespaces.
    threads = [allow(["clone"], argument("MASKED_EQ", NAMESPACES, 0)), NO_CLONE3]
    rules += [] if "CAP_SYS_ADMIN" in capabilities else threads
    return profile(machines, rules)


def for_ebb():
    """One file for every machine and every runtime: without docker's includes, which containerd ignores."""
    machines = list(ARCHITECTURES)
    rules = [*common_rules(machines), allow(BY_CAPABILITY["CAP_SYS_CHROOT"].split()), NO_CLONE3]
    return profile(machines, [*rules, allow(FOR_A_FORKSERVER), allow(FOR_A_BOX)])


def text(profile):
    """As JSON, one rule a line."""
    fields = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in profile.items() if key != "syscalls"]
    rules = ",\n".join("    " + json.dumps(rule) for rule in profile["syscalls"])
    return "{\n" + "".join(f"  {field},\n" for field in fields) + f'  "syscalls": [\n{rules}\n  ]\n}}\n'


if __name__ == "__main__":
    print(text(for_ebb()), end="")  # dist/container/seccomp.json
