// ebb, as one types it: lets a daemon of the same user run the command, or starts a JVM that does. Nothing is known of
// commands here; the daemon says which it runs.
#include "front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

// A caller without all three streams would get the socket as one of them.
static bool has_streams(void) {
  return fcntl(0, F_GETFD) >= 0 && fcntl(1, F_GETFD) >= 0 && fcntl(2, F_GETFD) >= 0;
}

static bool is_asked(void) {
  return strcmp(variable("EBB_FRONT"), "never") != 0 && !*variable("EBB_URL") && has_streams();
}

// The script finds the JDK, builds what is missing, and becomes java.
static int become_java(const char *root, char **argv) {
  char script[4200];
  snprintf(script, sizeof script, "%s/dist/start", root);
  argv[0] = script;
  execv(script, argv);
  dprintf(2, "ebb: cannot run %s: %s\n", script, strerror(errno));
  return FRONT_FAILURE;
}

// Nothing has been built since, or nothing is to be.
static bool is_fresh(const char *root) {
  return strcmp(variable("EBB_BUILD"), "never") == 0 || place_is_fresh(root);
}

int main(int argc, char **argv) {
  static struct place place;
  int fd = place_find(&place) && is_asked() ? wire_connect(place.socket) : -1;
  // ORDER: the daemon reads the hello while we look at the sources.
  if (fd >= 0 && wire_hello(fd, &place, argc, argv) && is_fresh(place.root) && wire_go(fd))
    return session_run(fd);
  close(fd);
  return become_java(place.root, argv);
}
