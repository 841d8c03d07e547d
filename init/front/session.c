// A command that the daemon runs for this process: its streams, its signals and its terminal stay here.
#include "front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// KERNEL: a pipe that polls as writable takes this much without blocking.
#define WRITE_MOST 4096

static int daemon_fd;
static int wakeup[2];
static uint32_t caught;  // a bit for each signal that the command handles
static uint32_t wanted;  // how much of stdin the command waits for
static int write_errors[3];
static int text_error; // the first of ebb's own text
static char received[FRONT_HEADER + FRONT_CHUNK];
static size_t received_length;

static void leave(int code) {
  terminal_restore();
  _exit(code);
}

// --- signals ---

static void on_signal(int number) {
  int error = errno;
  char byte = (char)number;
  if (write(wakeup[1], &byte, 1) < 0)
    errno = EAGAIN; // full: a signal that is already waiting says the same
  errno = error;
}

// A signal that the caller ignores stays ignored, as below nohup.
static void install(int number) {
  struct sigaction before, action = {.sa_handler = on_signal};
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(number, &action, NULL);
}

static void watch_signals(void) {
  if (pipe2(wakeup, O_CLOEXEC | O_NONBLOCK) != 0)
    leave(FRONT_FAILURE);
  install(SIGINT);
  install(SIGTERM);
  install(SIGHUP);
  install(SIGWINCH);
  install(SIGCONT);
  signal(SIGPIPE, SIG_IGN);
}

static void send_size(void) {
  uint16_t size[2];
  terminal_size(&size[0], &size[1]);
  size[0] = htons(size[0]);
  size[1] = htons(size[1]);
  wire_send(daemon_fd, FRONT_SIZE, size, sizeof size, -1);
}

static void take_signal(int number) {
  char byte = (char)number;
  if (number == SIGCONT)
    terminal_renew();
  if (number == SIGCONT || number == SIGWINCH)
    send_size();
  else if (caught & (1u << number))
    wire_send(daemon_fd, FRONT_SIGNAL, &byte, 1, -1);
  else
    leave(FRONT_SIGNALLED + number);
}

static void take_signals(void) {
  char bytes[16];
  for (ssize_t n; (n = read(wakeup[0], bytes, sizeof bytes)) > 0;)
    for (ssize_t i = 0; i < n; i++)
      take_signal(bytes[i]);
}

// --- output ---

static void fail(int fd) {
  char text[128] = {(char)fd};
  write_errors[fd] = errno;
  strncpy(text + 1, strerror(errno), sizeof text - 2);
  wire_send(daemon_fd, FRONT_FAILED, text, 1 + strlen(text + 1), -1);
}

// The reader may be slow or stopped; signals are heard meanwhile.
static void print(int fd, const char *bytes, size_t length) {
  while (length > 0 && !write_errors[fd]) {
    struct pollfd waits[] = {{.fd = fd, .events = POLLOUT}, {.fd = wakeup[0], .events = POLLIN}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR)
      return;
    if (waits[1].revents)
      take_signals();
    if (!waits[0].revents)
      continue;
    ssize_t n = write(fd, bytes, length < WRITE_MOST ? length : WRITE_MOST);
    if (n > 0) {
      bytes += n;
      length -= (size_t)n;
    } else if (n < 0 && errno != EINTR && errno != EAGAIN) {
      fail(fd);
    }
  }
}

static void print_text(const char *bytes, size_t length) {
  print(1, bytes, length);
  text_error = text_error ? text_error : write_errors[1];
}

// --- input ---

static void read_input(void) {
  static char chunk[FRONT_CHUNK];
  ssize_t n = read(0, chunk, wanted < sizeof chunk ? wanted : sizeof chunk);
  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  wanted = 0;
  if (n < 0)
    wire_send(daemon_fd, FRONT_UNREAD, strerror(errno), strlen(strerror(errno)), -1);
  else
    wire_send(daemon_fd, FRONT_INPUT, chunk, (size_t)n, -1);
}

// --- the daemon's messages ---

static int end(int code) {
  terminal_restore();
  if (text_error == 0 || text_error == EPIPE)
    return code;
  dprintf(2, "ebb: cannot write the output: %s\n", strerror(text_error));
  return FRONT_FAILURE;
}

static void set_raw(bool raw) {
  if (!raw) {
    terminal_restore();
    return;
  }
  int error = terminal_raw();
  const char *reason = error ? strerror(error) : "";
  wire_send(daemon_fd, FRONT_DONE, reason, strlen(reason), -1);
}

static uint32_t number(const char *bytes) {
  uint32_t number;
  memcpy(&number, bytes, sizeof number);
  return ntohl(number);
}

// Does what one message says; its exit code at the end, or -1.
static int obey(char kind, const char *content, size_t length) {
  if (kind == DAEMON_OUT)
    print(1, content, length);
  else if (kind == DAEMON_TEXT)
    print_text(content, length);
  else if (kind == DAEMON_ERR)
    print(2, content, length);
  else if (kind == DAEMON_READ && length == 4)
    wanted = number(content);
  else if (kind == DAEMON_SYNC)
    wire_send(daemon_fd, FRONT_DONE, "", 0, -1);
  else if (kind == DAEMON_RAW && length == 1)
    set_raw(content[0]);
  else if (kind == DAEMON_CATCH && length == 4)
    caught = number(content);
  else if (kind == DAEMON_EXIT && length == 1)
    return end((unsigned char)content[0]);
  return -1;
}

static int lost(void) {
  terminal_restore();
  dprintf(2, "ebb: the daemon ended before the command did\n");
  return FRONT_FAILURE;
}

// Obeys all messages that are here; the exit code at the end, or -1.
static int take_messages(void) {
  ssize_t n = recv(daemon_fd, received + received_length, sizeof received - received_length, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return -1;
  if (n <= 0)
    return lost();
  received_length += (size_t)n;
  size_t done = 0;
  int code = -1;
  while (code < 0 && received_length - done >= FRONT_HEADER) {
    size_t length = number(received + done + 1);
    if (length > FRONT_CHUNK)
      return lost();
    if (received_length - done < FRONT_HEADER + length)
      break;
    code = obey(received[done], received + done + FRONT_HEADER, length);
    done += FRONT_HEADER + length;
  }
  memmove(received, received + done, received_length - done);
  received_length -= done;
  return code;
}

int session_run(int fd) {
  daemon_fd = fd;
  watch_signals();
  for (int code = -1;;) {
    struct pollfd waits[] = {
        {.fd = fd, .events = POLLIN}, {.fd = wakeup[0], .events = POLLIN}, {.fd = wanted ? 0 : -1, .events = POLLIN}};
    if (poll(waits, 3, -1) < 0 && errno != EINTR)
      return lost();
    if (waits[1].revents)
      take_signals();
    if (waits[0].revents && (code = take_messages()) >= 0)
      return code;
    if (waits[2].revents && wanted)
      read_input();
  }
}
