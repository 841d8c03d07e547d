// Where the dist, the home and the daemon's socket are.
#include "front.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

// This program in the clone.
#define OWN_PATH "/dist/target/ebb/lib/ebb"

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

// By the path that was executed, which may be a link to it.
static bool find_root(char *root) {
  const char *executed = (const char *)getauxval(AT_EXECFN);
  if (!executed || !realpath(executed, root))
    return false;
  size_t own = strlen(OWN_PATH), length = strlen(root);
  if (length <= own || strcmp(root + length - own, OWN_PATH) != 0)
    return false;
  root[length - own] = '\0';
  return true;
}

// The build is a line that the build of the dist wrote.
static bool read_build(const char *root, char *build, size_t size) {
  char path[4200];
  snprintf(path, sizeof path, "%s/dist/target/ebb/build", root);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, build, size - 1);
  close(fd);
  if (n <= 0)
    return false;
  build[n] = '\0';
  build[strcspn(build, "\n")] = '\0';
  return true;
}

// As Home.locate and DaemonConnection.socket do.
static int socket_path(char *path, size_t size) {
  const char *state = variable("XDG_STATE_HOME");
  if (*variable("EBB_SOCKET"))
    return snprintf(path, size, "%s" FRONT_SUFFIX, variable("EBB_SOCKET"));
  if (*variable("EBB_HOME"))
    return snprintf(path, size, "%s/ebb.sock" FRONT_SUFFIX, variable("EBB_HOME"));
  if (geteuid() == 0)
    return snprintf(path, size, "/var/lib/ebb/ebb.sock" FRONT_SUFFIX);
  if (*state == '/')
    return snprintf(path, size, "%s/ebb/ebb.sock" FRONT_SUFFIX, state);
  return snprintf(path, size, "%s/.local/state/ebb/ebb.sock" FRONT_SUFFIX, variable("HOME"));
}

bool place_find(struct place *place) {
  int length = socket_path(place->socket, sizeof place->socket);
  return find_root(place->root) && read_build(place->root, place->build, sizeof place->build) &&
         length < (int)sizeof place->socket;
}

// --- freshness ---

// What goes into the dist, as is_built of dist/setup.sh has it.
static const char *const sources[] = {"pom.xml", "init",   "kernel", "oracle",  "json", "runtime", "third_party",
                                      "server",  "mcp",    "client", "torture", "cli",  "dist"};

static bool is_newer(const struct stat *file, const struct timespec *than) {
  return file->st_mtim.tv_sec > than->tv_sec ||
         (file->st_mtim.tv_sec == than->tv_sec && file->st_mtim.tv_nsec > than->tv_nsec);
}

static bool is_pruned(const char *parent, const char *name) {
  return strcmp(name, "target") == 0 ||
         (strcmp(parent, "init") == 0 && (strcmp(name, "build") == 0 || strcmp(name, "test") == 0)) ||
         (strcmp(parent, "src") == 0 && strcmp(name, "test") == 0);
}

// Whether the entry, or any below it, is newer. Directories count below src: their entries may have gone.
static bool has_newer(int at, const char *parent, const char *name, int type, bool in_src, const struct timespec *than) {
  struct stat file;
  bool is_directory = type == DT_DIR;
  if (is_pruned(parent, name))
    return false;
  if ((type == DT_REG || in_src || type == DT_UNKNOWN) && fstatat(at, name, &file, AT_SYMLINK_NOFOLLOW) == 0) {
    if (type == DT_UNKNOWN)
      is_directory = S_ISDIR(file.st_mode);
    if ((S_ISREG(file.st_mode) || in_src) && is_newer(&file, than))
      return true;
  }
  if (!is_directory)
    return false;
  int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);
  if (!directory)
    return true; // the script finds out
  bool found = false;
  for (struct dirent *entry; !found && (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      found = has_newer(fd, name, entry->d_name, entry->d_type, in_src || strcmp(name, "src") == 0, than);
  closedir(directory);
  return found;
}

bool place_is_fresh(const char *root) {
  struct stat built;
  int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool is_fresh = at >= 0 && fstatat(at, "dist/target/built", &built, 0) == 0;
  for (size_t i = 0; is_fresh && i < sizeof sources / sizeof *sources; i++)
    is_fresh = !has_newer(at, "", sources[i], DT_UNKNOWN, false, &built.st_mtim);
  close(at);
  return is_fresh;
}
