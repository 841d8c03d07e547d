// Entries of directories, as stat and list report them.
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "files.h"

#define SECONDS_MAX 9223372035ll /* whose nanoseconds a signed number of 64 bits can hold */

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

void files_print(const struct stat *status, const char *link, const char *name)
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
	files_print(&status, link, name);
	return 0;
}

static int flush(int error)
{
	return fflush(stdout) != 0 && !error ? errno : error;
}

// -------------------------------------------------------------- stat and list

int files_stat(char **argv)
{
	char *end = argv[1] + strlen(argv[1]);
	while (end > argv[1] + 1 && end[-1] == '/')
		*--end = '\0';
	int fd = open(argv[1], O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno;
	bool is_refused = files_is_kernel(fd);
	close(fd);
	if (is_refused)
		return EACCES;
	char *slash = strrchr(argv[1], '/');
	return flush(print_entry(AT_FDCWD, argv[1], slash && slash[1] ? slash + 1 : argv[1]));
}

bool files_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

DIR *files_open_directory(int directory, const char *path, int flags)
{
	int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	return fd < 0 ? NULL : fdopendir(fd);
}

/* What a directory contains about an entry. */
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
		if (!files_is_dots(each->d_name) && !list_one(listing, each))
			return ENOMEM;
	if (errno == 0 && listing->count > 0)
		qsort(listing->entries, listing->count, sizeof *listing->entries, by_name);
	return errno;
}

/*
 * An entry that is gone by now is skipped; of an entry in a directory that may
 * not be searched only the type is known.
 */
int files_list(char **argv)
{
	struct listing listing = {0};
	DIR *directory = files_open_directory(AT_FDCWD, argv[1], 0);
	if (!directory)
		return errno;
	if (files_is_kernel(dirfd(directory)))
		return EACCES;
	int error = read_names(directory, &listing);
	for (size_t i = 0; !error && i < listing.count; i++) {
		const struct listed *each = listing.entries[i];
		error = print_entry(dirfd(directory), each->name, each->name);
		if (error == EACCES)
			files_print(&(struct stat){.st_mode = DTTOIF(each->type)}, "", each->name);
		if (error == EACCES || error == ENOENT)
			error = 0;
		if (ferror(stdout))
			error = EPIPE;
	}
	return flush(error);
}
