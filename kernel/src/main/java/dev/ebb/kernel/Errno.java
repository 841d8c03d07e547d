package dev.ebb.kernel;

/** The kernel's error numbers that Ebb distinguishes; they are equal on x86_64 and aarch64. */
public enum Errno {
  EPERM(1),
  ENOENT(2),
  ESRCH(3),
  EINTR(4),
  EIO(5),
  ENXIO(6),
  E2BIG(7),
  ENOEXEC(8),
  EBADF(9),
  ECHILD(10),
  EAGAIN(11),
  ENOMEM(12),
  EACCES(13),
  EBUSY(16),
  EEXIST(17),
  EXDEV(18),
  ENODEV(19),
  ENOTDIR(20),
  EISDIR(21),
  EINVAL(22),
  ENFILE(23),
  EMFILE(24),
  ETXTBSY(26),
  EFBIG(27),
  ENOSPC(28),
  EROFS(30),
  EPIPE(32),
  ENAMETOOLONG(36),
  ENOSYS(38),
  ENOTEMPTY(39),
  ELOOP(40),
  ENODATA(61),
  EBADMSG(74),
  EUSERS(87),
  ENOPROTOOPT(92),
  EOPNOTSUPP(95),
  EADDRINUSE(98),
  ENETUNREACH(101),
  ECONNABORTED(103),
  ECONNRESET(104),
  ENOBUFS(105),
  ETIMEDOUT(110),
  ECONNREFUSED(111),
  EHOSTUNREACH(113),
  EINPROGRESS(115),
  ENOTCONN(107),
  ESTALE(116),
  EDQUOT(122),
  ECANCELED(125),
  /** Any number not listed here; the exception carries it. */
  OTHER(0);

  private final int number;

  Errno(int number) {
    this.number = number;
  }

  public int number() {
    return number;
  }

  public static Errno of(int number) {
    for (Errno errno : values()) {
      if (errno.number == number) {
        return errno;
      }
    }
    return OTHER;
  }

  /** The symbol, or the bare number for one that has none here. */
  public static String describe(int number) {
    Errno errno = of(number);
    return errno == OTHER ? "errno " + number : errno.name();
  }
}
