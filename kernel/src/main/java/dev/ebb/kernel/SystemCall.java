package dev.ebb.kernel;

/** The system calls that Ebb makes by number. All use one native entry, so one stub is linked. */
enum SystemCall {
  READ(0, 63),
  WRITE(1, 64),
  CLOSE(3, 57),
  IOCTL(16, 29),
  PREAD64(17, 67),
  SOCKET(41, 198),
  CONNECT(42, 203),
  SENDTO(44, 206),
  RECVFROM(45, 207),
  SENDMSG(46, 211),
  RECVMSG(47, 212),
  SHUTDOWN(48, 210),
  BIND(49, 200),
  LISTEN(50, 201),
  SOCKETPAIR(53, 199),
  SETSOCKOPT(54, 208),
  GETSOCKOPT(55, 209),
  CLONE(56, 220),
  FCNTL(72, 25),
  FLOCK(73, 32),
  FTRUNCATE(77, 46),
  STATFS(137, 43),
  PRCTL(157, 167),
  GETEUID(107, 175),
  CLOCK_GETTIME(228, 113),
  GETRANDOM(318, 278),
  MEMFD_CREATE(319, 279),
  EPOLL_CTL(233, 21),
  EPOLL_PWAIT(281, 22),
  ACCEPT4(288, 242),
  EVENTFD2(290, 19),
  EPOLL_CREATE1(291, 20),
  PIPE2(293, 59),
  OPENAT(257, 56),
  MKDIRAT(258, 34),
  UNLINKAT(263, 35),
  SYMLINKAT(266, 36),
  GETDENTS64(217, 61),
  FCHOWNAT(260, 54),
  KILL(62, 129),
  WAITID(247, 95),
  STATX(332, 291),
  PIDFD_SEND_SIGNAL(424, 424),
  PIDFD_OPEN(434, 434),
  OPEN_TREE(428, 428),
  CLOSE_RANGE(436, 436),
  OPENAT2(437, 437),
  MOUNT_SETATTR(442, 442);

  private static final boolean AARCH64 = System.getProperty("os.arch").equals("aarch64");

  final int x86;
  final int arm;

  SystemCall(int x86, int arm) {
    this.x86 = x86;
    this.arm = arm;
  }

  int number() {
    return AARCH64 ? arm : x86;
  }
}
