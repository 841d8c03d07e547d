// The messages between a front and the daemon, as FrontProtocol.java has them: a byte for the kind, four for the
// length, big-endian, and the content. docs/design/cli.md explains the order.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// From the front.
#define FRONT_HELLO 'H'  // texts, each ended by NUL: build, directory, terminals, rows, columns, count and arguments, variables
#define FRONT_GO 'G'     // run it: the daemon answered in time
#define FRONT_INPUT 'I'  // what was read from stdin; nothing: its end
#define FRONT_UNREAD 'U' // stdin cannot be read: the reason
#define FRONT_SIGNAL 'S' // a byte: the number of a signal
#define FRONT_SIZE 'W'   // rows and columns of the terminal, two bytes each
#define FRONT_FAILED 'F' // a byte for the stream, and why it cannot be written
#define FRONT_DONE 'D'   // all before SYNC is done; or else the reason

// From the daemon.
#define DAEMON_READY 'Y'   // waits for GO
#define DAEMON_REFUSES 'N' // the command is not for the daemon
#define DAEMON_OUT 'O'     // for stdout, of a command in a box
#define DAEMON_TEXT 'P'    // for stdout, of ebb itself: what cannot be written is no success
#define DAEMON_ERR 'E'     // for stderr
#define DAEMON_READ 'R'    // four bytes: how much to read from stdin, once
#define DAEMON_SYNC 'C'    // answer DONE when all before was written
#define DAEMON_RAW 'T'     // a byte: 1 makes the terminal raw, answered by DONE; 0 restores it
#define DAEMON_CATCH 'M'   // four bytes: a bit for each signal that is to be sent, and not to end the front
#define DAEMON_EXIT 'X'    // a byte: the exit code

#define FRONT_HEADER 5
#define FRONT_CHUNK 65536
#define FRONT_HELLO_MOST (256 * 1024)
#define FRONT_SUFFIX ".cli" // of the socket, after the name of the daemon's own
#define FRONT_FAILURE 125   // as ExitCode.OWN_FAILURE
#define FRONT_SIGNALLED 128 // as ExitCode.SIGNALLED

// --- place.c: where things are ---

struct place {
  char root[4096];  // the clone, or what was installed of it
  char build[128];  // the exact build of this dist
  char socket[108]; // of the daemon
};

// False if the daemon cannot be the place of this command: it is not built, its home has too long a name.
bool place_find(struct place *place);

// Whether nothing that the dist is built from is newer than the dist.
bool place_is_fresh(const char *root);

// --- wire.c: a connection to the daemon ---

// Returns a connection to a daemon of the same user, or -1.
int wire_connect(const char *path);

// Sends all of a message, waiting at most so many milliseconds for room; -1: for ever.
bool wire_send(int fd, char kind, const void *content, size_t length, int milliseconds);

// Says what this front was called with.
bool wire_hello(int fd, const struct place *place, int argc, char **argv);

// Has the command begin; false if the daemon does not want to run it, or does not answer in time.
bool wire_go(int fd);

// --- terminal.c ---

int terminal_flags(void);
void terminal_size(uint16_t *rows, uint16_t *columns);
int terminal_raw(void); // 0, or errno
void terminal_renew(void);
void terminal_restore(void);

// --- session.c: a command that the daemon runs ---

// Serves it until its end, and returns its exit code.
int session_run(int fd);
