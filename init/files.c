// File operations, each by a child of init as the box's user: a hostile tree harms only itself.
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "init.h"

#define CHUNK (64 * 1024)
#define SECONDS_MAX 9223372035ll /* whose nanoseconds a signed number of 64 bits can hold */

/* A name, and the directory that it is in: whoever moves that takes us along. */
struct place {
	int directory; /* O_PATH */
	const char *name;
};

static bool parse(const char *text, int base, uint64_t most, uint64_t *value)
{
	char *end;
	errno = 0;
	*value = strtoull(text, &end, base);
	return isdigit(text[0]) && *end == '\0' && errno == 0 && *value <= most;
}

int files_put(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);
		if (n < 0)
			return errno;
		data += n;
		size -= n;
	}
	return 0;
}

/*
 * What the kernel tells of itself and of us is no file of the box: we are a copy of init, and our
 * maps are its own. The name does not matter, nor the link that led here.
 */
static bool is_kernel(int fd)
{
	struct statfs system;
	return fstatfs(fd, &system) != 0 || system.f_type == PROC_SUPER_MAGIC ||
	       system.f_type == SYSFS_MAGIC;
}

static int find_place(char *path, struct place *place)
{
	char *slash = strrchr(path, '/');
	place->name = slash ? slash + 1 : path;
	place->directory = AT_FDCWD;
	if (!slash)
		return 0;
	char first = place->name[0];
	slash[1] = '\0';
	place->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	slash[1] = first;
	if (place->directory < 0)
		return errno;
	return is_kernel(place->directory) ? EACCES : 0;
}

// ----------------------------------------------------------------------- read

static int open_regular(const char *path, int *fd)
{
	struct stat status;
	*fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &status) != 0)
		return errno;
	if (is_kernel(*fd))
		return EACCES;
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	return S_ISREG(status.st_mode) ? 0 : ENXIO;
}

static int check_size(int fd, uint64_t offset, uint64_t most)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return errno;
	uint64_t size = status.st_size;
	return size > offset && size - offset > most ? EFBIG : 0;
}

/* RACE: a file that grows meanwhile is cut. */
static int read_some(const char *path, const char *from, uint64_t most)
{
	char chunk[CHUNK];
	uint64_t offset;
	int fd;
	if (!parse(from, 10, INT64_MAX, &offset))
		return EINVAL;
	int error = open_regular(path, &fd);
	if (!error && !(error = check_size(fd, offset, most)) && lseek(fd, offset, SEEK_SET) < 0)
		error = errno;
	for (ssize_t n = 1; !error && n > 0 && most > 0; most -= n) {
		n = read(fd, chunk, most < sizeof chunk ? most : sizeof chunk);
		if (n < 0)
			return errno;
		error = files_put(STDOUT_FILENO, chunk, n);
	}
	return error;
}

static int read_file(char **argv)
{
	return read_some(argv[1], argv[2], UINT64_MAX);
}

static int read_within(char **argv)
{
	uint64_t most;
	return parse(argv[3], 10, INT64_MAX, &most) ? read_some(argv[1], argv[2], most) : EINVAL;
}

// ---------------------------------------------------------------------- mkdir

static int make_parents(char *path)
{
	int error = 0;
	for (char *slash = path; !error && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		error = mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : errno;
		*slash = '/';
	}
	return error;
}

static int make_directory(char **argv)
{
	struct stat status;
	int error = make_parents(argv[1]);
	if (error || mkdir(argv[1], 0777) == 0)
		return error;
	error = errno;
	bool is_there = error == EEXIST && stat(argv[1], &status) == 0 && S_ISDIR(status.st_mode);
	return is_there ? 0 : error;
}

// -------------------------------------------------------------------- entries

static char letter_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return 'f';
	case S_IFDIR: return 'd';
	case S_IFLNK: return 'l';
	case S_IFIFO: return 'p';
	case S_IFSOCK: return 's';
	case S_IFCHR: return 'c';
	case S_IFBLK: return 'b';
	default: return '?';
	}
}

/* Clamped: the box may set any time. */
static long long nanoseconds(struct timespec time)
{
	long long seconds = time.tv_sec;
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	if (seconds < -SECONDS_MAX)
		seconds = -SECONDS_MAX;
	return seconds * 1000000000 + time.tv_nsec;
}

/* Type, mode, size, time, target, name; each ends in NUL. */
size_t files_entry(char *room, size_t size, const struct stat *status, const char *link,
                   const char *name)
{
	return snprintf(room, size, "%c%c%o%c%lld%c%lld%c%s%c%s%c", letter_of(status->st_mode), 0,
	                status->st_mode & 07777, 0, (long long)status->st_size, 0,
	                nanoseconds(status->st_mtim), 0, link, 0, name, 0);
}

static void print(const struct stat *status, const char *link, const char *name)
{
	char entry[2 * PATH_MAX + 64];
	fwrite(entry, files_entry(entry, sizeof entry, status, link, name), 1, stdout);
}

static int print_entry(int directory, const char *path, const char *name)
{
	struct stat status;
	char link[PATH_MAX] = "";
	if (fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	if (S_ISLNK(status.st_mode)) {
		ssize_t n = readlinkat(directory, path, link, sizeof link - 1);
		link[n > 0 ? n : 0] = '\0';
	}
	print(&status, link, name);
	return 0;
}

static int flush(int error)
{
	return fflush(stdout) != 0 && !error ? errno : error;
}

// ---------------------------------------------------------------------- write

static struct place target;
static char temporary[24]; /* beside the target */

/* RACE: it may not be there yet, or no longer; its name is nobody else's. */
static void give_up(int signal)
{
	(void)signal;
	unlinkat(target.directory, temporary, 0);
	_exit(EINTR);
}

static int take(void *data, size_t size)
{
	for (char *end = (char *)data + size, *at = data; at < end;) {
		ssize_t n = read(STDIN_FILENO, at, end - at);
		if (n <= 0)
			return n < 0 ? errno : ECANCELED;
		at += n;
	}
	return 0;
}

/* Only an empty frame is the end: a pipe also ends when the engine does. */
static int take_content(int fd)
{
	char chunk[CHUNK];
	uint32_t size;
	int error;
	while (!(error = take(&size, sizeof size)) && size > 0)
		for (uint32_t n; !error && size > 0; size -= n) {
			n = size < sizeof chunk ? size : sizeof chunk;
			if ((error = take(chunk, n)) || (error = files_put(fd, chunk, n)))
				return error;
		}
	return error;
}

/* Nameless where the file system can: then nothing is left of it, whoever is killed. */
static int open_temporary(bool *is_named)
{
	int fd = openat(target.directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	*is_named = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR);
	if (!*is_named)
		return fd;
	return openat(target.directory, temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
}

static bool give_name(int fd)
{
	char path[32];
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, target.directory, temporary, AT_SYMLINK_FOLLOW) == 0;
}

/* A file or a link gives way; that is all. */
static int check_target(void)
{
	struct stat status;
	if (fstatat(target.directory, target.name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : errno;
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	return S_ISREG(status.st_mode) || S_ISLNK(status.st_mode) ? 0 : EEXIST;
}

static int replace(mode_t mode)
{
	bool is_named;
	struct stat status;
	int fd = open_temporary(&is_named);
	int error = fd < 0 || fchmod(fd, mode) != 0 ? errno : take_content(fd);
	if (!error && ((!is_named && !give_name(fd)) || fstat(fd, &status) != 0))
		error = errno;
	if (!error && renameat(target.directory, temporary, target.directory, target.name) != 0)
		error = errno;
	if (error)
		unlinkat(target.directory, temporary, 0);
	else
		print(&status, "", target.name);
	fflush(stdout); // it is there, whoever hears of it
	return error;
}

static int write_file(char **argv)
{
	uint64_t mode, random;
	if (!parse(argv[2], 8, 07777, &mode))
		return EINVAL;
	if (argv[1][strlen(argv[1]) - 1] == '/')
		return EISDIR;
	int error = make_parents(argv[1]);
	if (error || (error = find_place(argv[1], &target)) || (error = check_target()))
		return error;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return EIO;
	snprintf(temporary, sizeof temporary, ".ebb-%016llx", (unsigned long long)random);
	signal(SIGTERM, give_up);
	return replace(mode);
}

// ------------------------------------------------------------- stat and list

static int stat_file(char **argv)
{
	char *end = argv[1] + strlen(argv[1]);
	while (end > argv[1] + 1 && end[-1] == '/')
		*--end = '\0';
	int fd = open(argv[1], O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	bool is_refused = is_kernel(fd);
	close(fd);
	if (is_refused)
		return EACCES;
	char *slash = strrchr(argv[1], '/');
	return flush(print_entry(AT_FDCWD, argv[1], slash && slash[1] ? slash + 1 : argv[1]));
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_directory(int directory, const char *path, int flags)
{
	int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return fd < 0 ? NULL : fdopendir(fd);
}

/* What a directory tells of an entry. */
struct listed {
	unsigned char type;
	char name[];
};

struct listing {
	struct listed **entries;
	size_t count, room;
};

static bool list_one(struct listing *listing, const struct dirent *found)
{
	size_t size = strlen(found->d_name) + 1;
	if (listing->count == listing->room) {
		size_t room = listing->room ? 2 * listing->room : 64;
		void *larger = reallocarray(listing->entries, room, sizeof *listing->entries);
		if (!larger)
			return false;
		listing->entries = larger;
		listing->room = room;
	}
	struct listed *entry = malloc(sizeof *entry + size);
	if (!entry)
		return false;
	entry->type = found->d_type;
	memcpy(entry->name, found->d_name, size);
	listing->entries[listing->count++] = entry;
	return true;
}

static int by_name(const void *one, const void *other)
{
	return strcmp((*(struct listed *const *)one)->name, (*(struct listed *const *)other)->name);
}

/* The names are kept in the memory of the box alone. */
static int read_names(DIR *directory, struct listing *listing)
{
	for (struct dirent *each; errno = 0, each = readdir(directory);)
		if (!is_dots(each->d_name) && !list_one(listing, each))
			return ENOMEM;
	if (errno == 0 && listing->count > 0)
		qsort(listing->entries, listing->count, sizeof *listing->entries, by_name);
	return errno;
}

/* One that is gone by now is none; of one in a directory that may not be searched we know a type. */
static int list_directory(char **argv)
{
	struct listing listing = {0};
	DIR *directory = open_directory(AT_FDCWD, argv[1], 0);
	if (!directory)
		return errno;
	if (is_kernel(dirfd(directory)))
		return EACCES;
	int error = read_names(directory, &listing);
	for (size_t i = 0; !error && i < listing.count; i++) {
		const struct listed *each = listing.entries[i];
		error = print_entry(dirfd(directory), each->name, each->name);
		if (error == EACCES)
			print(&(struct stat){.st_mode = DTTOIF(each->type)}, "", each->name);
		if (error == EACCES || error == ENOENT)
			error = 0;
		if (ferror(stdout))
			error = EPIPE;
	}
	return flush(error);
}

// ----------------------------------------------------------- move and remove

static int move_file(char **argv)
{
	return rename(argv[1], argv[2]) == 0 ? 0 : errno;
}

/* The way back from the depth of a tree. */
struct trail {
	struct ancestor {
		dev_t device;
		ino_t inode;
	} *ancestors;
	size_t depth, room;
};

static bool note(struct trail *trail, const struct stat *status)
{
	if (trail->depth == trail->room) {
		size_t room = trail->room ? 2 * trail->room : 64;
		void *larger = reallocarray(trail->ancestors, room, sizeof *trail->ancestors);
		if (!larger)
			return false;
		trail->ancestors = larger;
		trail->room = room;
	}
	trail->ancestors[trail->depth++] = (struct ancestor){status->st_dev, status->st_ino};
	return true;
}

/* RACE: what is gone is fine, and what is a link by now is removed as one in the next round. */
static bool is_no_directory(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static int open_below(int directory, const char *name)
{
	return openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int descend(struct trail *trail, int *directory, const char *name)
{
	struct stat here;
	int fd = open_below(*directory, name);
	if (fd < 0)
		return is_no_directory(errno) ? 0 : errno;
	if (fstat(*directory, &here) != 0)
		return errno;
	if (!note(trail, &here))
		return ENOMEM;
	close(*directory);
	*directory = fd;
	return 0;
}

/* RACE: who was moved meanwhile has another parent, whose content nobody wanted removed. */
static int ascend(struct trail *trail, int *directory)
{
	struct stat parent;
	const struct ancestor *expected = &trail->ancestors[--trail->depth];
	int fd = openat(*directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &parent) != 0)
		return errno;
	if (parent.st_dev != expected->device || parent.st_ino != expected->inode)
		return ESTALE;
	close(*directory);
	*directory = fd;
	return 0;
}

/*
 * ENOTEMPTY: it is a directory with something in it. RACE: or was one just now. KERNEL: for a
 * mount it is EBUSY, so nobody descends into one.
 */
static int remove_entry(int directory, const char *name)
{
	if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return errno;
	if (unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == EEXIST || errno == ENOTDIR ? ENOTEMPTY : errno;
}

/* Removes what is in a directory, up to the first that is not empty: ENOTEMPTY, and its name. */
static int clear(int directory, char name[NAME_MAX + 1])
{
	DIR *entries = open_directory(directory, ".", 0);
	if (!entries)
		return errno;
	int error = 0;
	for (struct dirent *each; !error && (errno = 0, each = readdir(entries));) {
		if (is_dots(each->d_name))
			continue;
		error = remove_entry(directory, each->d_name);
		snprintf(name, NAME_MAX + 1, "%s", each->d_name);
	}
	error = error ? error : errno;
	closedir(entries);
	return error;
}

/* Any depth, with no more than three descriptors. Takes over the directory. */
static int empty(int directory)
{
	struct trail trail = {0};
	for (;;) {
		char name[NAME_MAX + 1];
		int error = clear(directory, name);
		if (!error && trail.depth == 0)
			break;
		if (!error)
			error = ascend(&trail, &directory);
		else if (error == ENOTEMPTY)
			error = descend(&trail, &directory, name);
		if (error)
			return error;
	}
	free(trail.ancestors);
	close(directory);
	return 0;
}

static int remove_at(const struct place *place, bool is_recursive)
{
	struct stat status;
	if (fstatat(place->directory, place->name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno;
	for (;;) {
		int error = remove_entry(place->directory, place->name);
		if (error != ENOTEMPTY || !is_recursive)
			return error;
		int fd = open_below(place->directory, place->name);
		error = fd < 0 ? errno : empty(fd);
		if (error && (fd >= 0 || !is_no_directory(error)))
			return error;
	}
}

static int remove_path(char *path, bool is_recursive)
{
	struct place place;
	char *end = path + strlen(path);
	while (end > path && end[-1] == '/')
		*--end = '\0';
	if (end == path)
		return EBUSY; // the root
	int error = find_place(path, &place);
	if (error)
		return error;
	return is_dots(place.name) ? EINVAL : remove_at(&place, is_recursive);
}

static int remove_one(char **argv)
{
	return remove_path(argv[1], false);
}

static int remove_tree(char **argv)
{
	return strcmp(argv[2], "recursive") == 0 ? remove_path(argv[1], true) : EINVAL;
}

// ------------------------------------------------------------------------ run

static const struct operation {
	const char *name;
	uint32_t argc;
	int (*run)(char **argv);
} operations[] = {
	{"read", 3, read_file},  {"read", 4, read_within},     {"write", 3, write_file},
	{"stat", 2, stat_file},
	{"list", 2, list_directory}, {"mkdir", 2, make_directory}, {"move", 3, move_file},
	{"remove", 2, remove_one}, {"remove", 3, remove_tree},
};

static int check_arguments(uint32_t argc, char **argv)
{
	for (uint32_t i = 1; i < argc; i++) {
		if (argv[i][0] == '\0')
			return ENOENT;
		if (strlen(argv[i]) >= PATH_MAX)
			return ENAMETOOLONG;
	}
	return 0;
}

noreturn void files_run(uint32_t argc, char **argv)
{
	int error = check_arguments(argc, argv);
	const struct operation *each = operations, *end = each + sizeof operations / sizeof *each;
	while (each < end && (each->argc != argc || strcmp(each->name, argv[0]) != 0))
		each++;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); // EFBIG is enough
	if (!error)
		error = each < end ? each->run(argv) : EINVAL;
	_exit(error > 255 ? EIO : error);
}
