// The terminal of the caller: its size, and raw mode.
#include "front.h"

#include <asm/termbits.h>
#include <errno.h>
#include <sys/ioctl.h>

static struct termios before;
static bool is_raw;

int terminal_flags(void) {
  struct termios mode;
  int flags = 0;
  for (int fd = 0; fd <= 2; fd++)
    if (ioctl(fd, TCGETS, &mode) == 0)
      flags |= 1 << fd;
  return flags;
}

void terminal_size(uint16_t *rows, uint16_t *columns) {
  struct winsize size = {0};
  ioctl(1, TIOCGWINSZ, &size);
  *rows = size.ws_row;
  *columns = size.ws_col;
}

// As cfmakeraw(3). TCSETS does not wait for the output to drain, which may never be read.
static int make_raw(void) {
  struct termios mode = before;
  mode.c_iflag &= ~(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
  mode.c_oflag &= ~OPOST;
  mode.c_lflag &= ~(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
  mode.c_cflag = (mode.c_cflag & ~(CSIZE | PARENB)) | CS8;
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  while (ioctl(0, TCSETS, &mode) != 0)
    if (errno != EINTR)
      return errno;
  return 0;
}

int terminal_raw(void) {
  if (ioctl(0, TCGETS, &before) != 0)
    return errno;
  int error = make_raw();
  is_raw = error == 0;
  return error;
}

// A shell gives a stopped job its own mode back when it continues.
void terminal_renew(void) {
  if (is_raw)
    make_raw();
}

void terminal_restore(void) {
  if (!is_raw)
    return;
  is_raw = false;
  while (ioctl(0, TCSETS, &before) != 0 && errno == EINTR)
    ;
}
