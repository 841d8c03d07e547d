// A file that is written: there as a whole, or all is as it was.
#include <sys/random.h>
#include <sys/stat.h>

#include "files.h"

static struct place target;
static char temporary[24]; /* beside the target */

/* RACE: it may not be there yet, or no longer; no other file has its name. */
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

/* Nameless where the file system can: then nothing is left of it after a kill. */
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
		files_print(&status, "", target.name);
	fflush(stdout); // it is there, also if the report is lost
	return error;
}

int files_write(char **argv)
{
	uint64_t mode, random;
	if (!files_parse(argv[2], 8, 07777, &mode))
		return EINVAL;
	if (argv[1][strlen(argv[1]) - 1] == '/')
		return EISDIR;
	int error = files_make_parents(argv[1]);
	if (error || (error = files_find_place(argv[1], &target)) || (error = check_target()))
		return error;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return EIO;
	snprintf(temporary, sizeof temporary, ".ebb-%016llx", (unsigned long long)random);
	signal(SIGTERM, give_up);
	return replace(mode);
}
