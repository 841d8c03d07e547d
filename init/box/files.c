// File operations, each by a child of init as the box's user: a hostile tree harms only itself.
#include <ctype.h>
#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "files.h"

bool files_parse(const char *text, int base, uint64_t most, uint64_t *value)
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
 * Files in which the kernel describes itself and us are not files of the box:
 * we are a copy of init, and our maps are its own. The name does not matter,
 * nor the link that led here.
 */
bool files_is_kernel(int fd)
{
	struct statfs system;
	return fstatfs(fd, &system) != 0 || system.f_type == PROC_SUPER_MAGIC ||
	       system.f_type == SYSFS_MAGIC;
}

int files_find_place(char *path, struct place *place)
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
	return files_is_kernel(place->directory) ? EACCES : 0;
}

// ----------------------------------------------------------------------- read

static int open_regular(const char *path, int *fd)
{
	struct stat status;
	*fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (*fd < 0 || fstat(*fd, &status) != 0)
		return errno;
	if (files_is_kernel(*fd))
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
	if (!files_parse(from, 10, INT64_MAX, &offset))
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
	return files_parse(argv[3], 10, INT64_MAX, &most) ? read_some(argv[1], argv[2], most) : EINVAL;
}

// ------------------------------------------------------------- mkdir and move

int files_make_parents(char *path)
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
	int error = files_make_parents(argv[1]);
	if (error || mkdir(argv[1], 0777) == 0)
		return error;
	error = errno;
	bool is_there = error == EEXIST && stat(argv[1], &status) == 0 && S_ISDIR(status.st_mode);
	return is_there ? 0 : error;
}

static int move_file(char **argv)
{
	return rename(argv[1], argv[2]) == 0 ? 0 : errno;
}

// ------------------------------------------------------------------------ run

static const struct operation {
	const char *name;
	uint32_t argc;
	int (*run)(char **argv);
} operations[] = {
	{"read", 3, read_file},        {"read", 4, read_within}, {"write", 3, files_write},
	{"stat", 2, files_stat},       {"list", 2, files_list},  {"mkdir", 2, make_directory},
	{"move", 3, move_file},        {"remove", 2, files_remove},
	{"remove", 3, files_remove_tree},
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
