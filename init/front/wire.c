// A connection to the daemon.
#include "front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// A daemon that is stopped or busy must not keep the caller; the command then has a process of its own.
#define PATIENCE 2000

extern char **environ;

// Another user's socket is not asked: it would see the caller's arguments.
static bool is_own(int fd) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

int wire_connect(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path)
    return -1;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return -1;
  // A full backlog is EAGAIN at once.
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 && is_own(fd))
    return fd;
  close(fd);
  return -1;
}

static bool send_all(int fd, const char *bytes, size_t length, int milliseconds) {
  while (length > 0) {
    ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes += n;
      length -= (size_t)n;
      continue;
    }
    if (errno == EINTR)
      continue;
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    if (errno != EAGAIN || (poll(&room, 1, milliseconds) <= 0 && (errno != EINTR || milliseconds >= 0)))
      return false;
  }
  return true;
}

bool wire_send(int fd, char kind, const void *content, size_t length, int milliseconds) {
  char head[FRONT_HEADER + 256];
  uint32_t size = htonl((uint32_t)length);
  head[0] = kind;
  memcpy(head + 1, &size, sizeof size);
  if (length <= sizeof head - FRONT_HEADER) {
    memcpy(head + FRONT_HEADER, content, length);
    return send_all(fd, head, FRONT_HEADER + length, milliseconds);
  }
  return send_all(fd, head, FRONT_HEADER, milliseconds) && send_all(fd, content, length, milliseconds);
}

// --- hello ---

struct text {
  char *bytes;
  size_t length;
  bool is_whole;
};

static void add(struct text *text, const char *word) {
  size_t n = strlen(word) + 1;
  if (text->length + n > FRONT_HELLO_MOST) {
    text->is_whole = false;
    return;
  }
  memcpy(text->bytes + text->length, word, n);
  text->length += n;
}

static void add_number(struct text *text, int number) {
  char word[16];
  snprintf(word, sizeof word, "%d", number);
  add(text, word);
}

// The variables that commands read, and those that say which characters the caller's terminal shows.
static bool is_needed(const char *variable) {
  static const char *const names[] = {"EBB_HOME=", "EBB_SOCKET=", "HOME=",    "XDG_STATE_HOME=",
                                      "LANG=",     "LC_ALL=",     "LC_CTYPE="};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(variable, names[i], strlen(names[i])) == 0)
      return true;
  return false;
}

bool wire_hello(int fd, const struct place *place, int argc, char **argv) {
  char directory[4096];
  uint16_t rows, columns;
  struct text text = {.bytes = malloc(FRONT_HELLO_MOST), .is_whole = true};
  if (!text.bytes || !getcwd(directory, sizeof directory))
    return false;
  terminal_size(&rows, &columns);
  add(&text, place->build);
  add(&text, directory);
  add_number(&text, terminal_flags());
  add_number(&text, rows);
  add_number(&text, columns);
  add_number(&text, argc - 1);
  for (int i = 1; i < argc; i++)
    add(&text, argv[i]);
  for (char **each = environ; *each; each++)
    if (is_needed(*each))
      add(&text, *each);
  bool is_sent = text.is_whole && wire_send(fd, FRONT_HELLO, text.bytes, text.length, PATIENCE);
  free(text.bytes);
  return is_sent;
}

bool wire_go(int fd) {
  char answer[FRONT_HEADER];
  struct pollfd ready = {.fd = fd, .events = POLLIN};
  // ORDER: a daemon that answers too late finds no GO, and runs nothing.
  return poll(&ready, 1, PATIENCE) == 1 && recv(fd, answer, sizeof answer, 0) == sizeof answer &&
         answer[0] == DAEMON_READY && wire_send(fd, FRONT_GO, "", 0, PATIENCE);
}
