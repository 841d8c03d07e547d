"""Runs in a box: asks the kernel for what the filter denies, and for what it allows. Prints {call: [got, wanted]}."""

import ctypes
import errno
import json
import os
import platform
import re

libc = ctypes.CDLL(None, use_errno=True)
IS_X86 = platform.machine() == "x86_64"
HEADERS = os.popen("echo '#include <sys/syscall.h>' | gcc -E -dM -").read()
NAMES = dict(re.findall(r"#define __NR_(\w+) (\d+)", HEADERS)) | {"fchmodat2": 452, "open_tree_attr": 467}
RESULTS = {}


def call(label, wanted, name, *arguments):
    if name not in NAMES:
        return
    ctypes.set_errno(0)
    values = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_ulong(a & (1 << 64) - 1) for a in arguments]
    result = libc.syscall(ctypes.c_long(int(NAMES[name])), *values)
    got = "OK" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")
    if result > 2 and name in ("socket", "open", "openat", "creat"):
        os.close(result)
    RESULTS[label] = (got, wanted)


for name in """setns mount umount2 pivot_root chroot open_tree open_tree_attr move_mount mount_setattr fsopen fsconfig
 fsmount fspick open_by_handle_at swapon swapoff quotactl quotactl_fd fanotify_init ptrace process_vm_readv
 process_vm_writev process_madvise pidfd_getfd kcmp io_uring_setup io_uring_enter io_uring_register bpf perf_event_open userfaultfd keyctl
 add_key request_key kexec_load kexec_file_load init_module finit_module delete_module reboot syslog acct vhangup
 settimeofday clock_settime clock_adjtime adjtimex lookup_dcookie nfsservctl iopl ioperm modify_ldt""".split():
    call(name, "EPERM", name, 0, 0, 0, 0, 0, 0)

call("clone3", "ENOSYS", "clone3", 0, 0)
call("openat2", "ENOSYS", "openat2", 0, 0, 0, 0)

AF = {"UNIX": 1, "INET": 2, "INET6": 10}
for name, family in AF.items():
    call("socket " + name, "OK", "socket", family, 1, 0)
    call("socket high bits " + name, "OK", "socket", family | 1 << 40, 1, 0)
for family in (3, 4, 5, 9, 17, 21, 29, 30, 31, 38, 40, 41, 44):
    call(f"socket {family}", "EAFNOSUPPORT", "socket", family, 3, 0)
call("netlink route", "OK", "socket", 16, 3, 0)
for protocol in (2, 4, 9, 12, 15, 16):
    call(f"netlink {protocol}", "EAFNOSUPPORT", "socket", 16, 3, protocol)

for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
    call(f"clone {flag:#x}", "EPERM", "clone", flag | 17, 0, 0, 0, 0)
    call(f"unshare {flag:#x}", "EPERM", "unshare", flag)
call("unshare time", "EPERM", "unshare", 0x80)
call("unshare files", "OK", "unshare", 0x400)

call("personality query", "OK", "personality", 0xFFFFFFFF)
call("personality linux", "OK", "personality", 0)
call("personality no randomize", "EPERM", "personality", 0x0040000)
call("personality bsd", "EPERM", "personality", 6)

for request in (0x5412, 0x541C, 0x5423):
    call(f"ioctl {request:#x}", "EPERM", "ioctl", 0, request, 0)
    call(f"ioctl high bits {request:#x}", "EPERM", "ioctl", 0, request | 1 << 32, 0)
call("ioctl other", "ENOTTY", "ioctl", 0, 0x5401, 0)

os.chdir("/workspace")
open("file", "w").close()
AT, CREAT, TMPFILE, RDWR = -100, 0o100, 0o20200000 if IS_X86 else 0o20040000, 2
for mode, wanted in ((0o4755, "EPERM"), (0o2755, "EPERM"), (0o1755, "OK"), (0o755, "OK")):
    call(f"chmod {mode:o}", wanted, "chmod", b"file", mode)
    call(f"fchmodat {mode:o}", wanted, "fchmodat", AT, b"file", mode)
    descriptor = os.open("file", os.O_RDONLY)
    call(f"fchmod {mode:o}", wanted, "fchmod", descriptor, mode)
    os.close(descriptor)
    call(f"openat {mode:o}", wanted, "openat", AT, b"new", CREAT | RDWR, mode)
    call(f"openat tmpfile {mode:o}", wanted, "openat", AT, b".", TMPFILE | RDWR, mode)
    call(f"open {mode:o}", wanted, "open", b"new2", CREAT | RDWR, mode)
    call(f"creat {mode:o}", wanted, "creat", b"new3", mode)
    call(f"mknod {mode:o}", wanted, "mknod", b"pipe%o" % mode, 0o010000 | mode, 0)
    call(f"mknodat {mode:o}", wanted, "mknodat", AT, b"pipeat%o" % mode, 0o010000 | mode, 0)
call("fchmodat2 4755", "EPERM", "fchmodat2", AT, b"file", 0o4755, 0)
call("openat rubbish in an unused mode", "OK", "openat", AT, b"file", RDWR, 0o6000)
if IS_X86:
    NAMES["x32 getpid"] = 0x40000000 + 39
    call("x32", "ENOSYS", "x32 getpid")
print(json.dumps(RESULTS))
