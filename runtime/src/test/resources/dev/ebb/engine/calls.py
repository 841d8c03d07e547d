"""Makes every system call that the filter knows, in a way that cannot succeed or does no harm: by the errno one sees
whether the filter or the kernel answered. Prints a line a call: its name, a blank, the errno or "ok"."""

import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ARCHITECTURE = 0 if os.uname().machine == "x86_64" else 1

SET_ID = 0o4755
CREATE = os.O_CREAT | os.O_WRONLY
NO_DIRECTORY = -100
NAMESPACES = {"mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000, "user": 0x10000000,
              "pid": 0x20000000, "net": 0x40000000}
CLONE_THREAD = 0x10000  # without CLONE_SIGHAND: EINVAL, whatever else is asked for
NO_SUCH_FLAG = 1  # for unshare

# Name: numbers on x86_64 and aarch64 (None: there is no such call), and arguments; the rest of them is -1.
CALLS = {
    "clone3": (435, 435), "openat2": (437, 437),
    "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "move_mount": (429, 429), "mount_setattr": (442, 442),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "open_by_handle_at": (304, 265), "fanotify_init": (300, 262), "swapon": (167, 224), "swapoff": (168, 225),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "acct": (163, 89), "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "process_madvise": (440, 440),
    "pidfd_getfd": (438, 438), "kcmp": (312, 272), "vhangup": (153, 58),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217),
    "request_key": (249, 218),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "reboot": (169, 142), "syslog": (103, 116),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266), "adjtimex": (159, 171),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None),
    "ioctl TIOCSTI": (16, 29, -1, 0x5412), "ioctl TIOCLINUX": (16, 29, -1, 0x541C), "ioctl TIOCSETD": (16, 29, -1, 0x5423),
    "ioctl high": (16, 29, -1, 0x5412 | 1 << 32),  # the kernel looks at 32 bits, and so must the filter
    "personality no-random": (135, 92, 0x40000), "personality read-implies-exec": (135, 92, 0x400000),
    "fchmod": (91, 52, -1, SET_ID), "fchmodat": (268, 53, NO_DIRECTORY, -1, SET_ID),
    "fchmodat2": (452, 452, NO_DIRECTORY, -1, SET_ID), "mknodat": (259, 33, NO_DIRECTORY, -1, 0o100000 | SET_ID),
    "openat": (257, 56, NO_DIRECTORY, -1, CREATE, SET_ID), "openat tmpfile": (257, 56, NO_DIRECTORY, -1, os.O_TMPFILE, SET_ID),
    "chmod": (90, None, -1, SET_ID), "mknod": (133, None, -1, 0o100000 | SET_ID), "creat": (85, None, -1, SET_ID),
    "open": (2, None, -1, CREATE, SET_ID),
    "socket vsock": (41, 198, 40, 77, 0), "socket packet": (41, 198, 17, 77, 0), "socket alg": (41, 198, 38, 77, 0),
    "socket inet packet": (41, 198, 2, 10, 0), "socket inet packet flags": (41, 198, 2, 10 | 0x80800, 0),
    "socket uevent": (41, 198, 16, 77, 15), "socketpair vsock": (53, 199, 40, 77, 0), "socketpair inet": (53, 199, 2, 77, 0),
    "socket protocol sctp": (41, 198, 2, 77, 132), "socket protocol mptcp": (41, 198, 2, 77, 262),
    "prlimit64": (302, 261, 1, 7, 0, 0), "sched_setscheduler": (144, 119, 1), "sched_setparam": (142, 118, 1),
    "sched_setattr": (314, 274, 1), "sched_setaffinity": (203, 122, 1), "setpriority": (141, 140, 77, 1),
    "setpriority user": (141, 140, 2), "ioprio_set": (251, 30, 77, 1), "ioprio_set user": (251, 30, 3),
}
for name, flag in NAMESPACES.items():
    CALLS["clone " + name] = (56, 220, flag | CLONE_THREAD, 0, 0, 0, 0)
    CALLS["unshare " + name] = (272, 97, flag | NO_SUCH_FLAG)
CALLS["unshare time"] = (272, 97, 0x80 | NO_SUCH_FLAG)

os.setsid() if os.getpid() != os.getsid(0) else None  # vhangup finds no terminal
for name, (x86, arm, *arguments) in CALLS.items():
    number = (x86, arm)[ARCHITECTURE]
    if number is None:
        continue
    arguments = (arguments + [-1] * 6)[:6]
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments))
    print(name, "ok" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), ctypes.get_errno()))
