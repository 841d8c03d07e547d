// What is in a box, as its pid 1 sees it: the engine asks for it before it hands out a warm box,
// and around code. Init reads this itself, without another process, so only where no process can
// delay it.
#include <ctype.h>
#include <dirent.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#include "init.h"

#define WORKSPACE "/workspace"
#define TICK (20 * 1000000) /* ns, and more than one */

/* All that commands may write to. */
static const char *const WRITABLE[] = {WORKSPACE, "/tmp", "/dev/shm"};

/* Entries whose name is a number; UINT32_MAX if unknown. */
static uint32_t count_numbers(const char *path)
{
	uint32_t found = 0;
	DIR *directory = opendir(path);
	if (!directory)
		return UINT32_MAX;
	for (struct dirent *entry; (entry = readdir(directory));)
		found += isdigit((unsigned char)entry->d_name[0]) != 0;
	closedir(directory);
	return found;
}

struct contents contents_inventory(void)
{
	struct contents contents = {
		.processes = count_numbers("/proc"),
		.descriptors = count_numbers("/proc/self/fd"),
	};
	for (size_t i = 0; i < sizeof WRITABLE / sizeof *WRITABLE; i++) {
		struct statfs use;
		if (statfs(WRITABLE[i], &use) != 0)
			return (struct contents){UINT32_MAX, UINT32_MAX, UINT64_MAX, UINT64_MAX};
		contents.files += use.f_files - use.f_ffree;
		contents.blocks += use.f_blocks - use.f_bfree;
	}
	return contents;
}

// -------------------------------------------------------------- the workspace

/* KERNEL: proc(5), mountinfo: the fifth word is the mount point. Commands cannot mount. */
static bool has_mounts(void)
{
	static enum { UNKNOWN, NO, YES } answer;
	char *line = NULL;
	size_t size = 0;
	FILE *mounts = answer == UNKNOWN ? fopen("/proc/self/mountinfo", "re") : NULL;
	if (answer == UNKNOWN)
		answer = mounts ? NO : YES;
	while (mounts && getline(&line, &size, mounts) > 0) {
		int point = 0;
		sscanf(line, "%*s %*s %*s %*s %n", &point);
		if (strncmp(line + point, WORKSPACE "/", sizeof WORKSPACE) == 0)
			answer = YES;
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return answer == YES;
}

/* Another file system than the one of memory may be slow, or a command's own. */
static int open_workspace(void)
{
	struct statfs kind;
	int fd = open(WORKSPACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && (fstatfs(fd, &kind) != 0 || kind.f_type != TMPFS_MAGIC || has_mounts())) {
		close_fd(&fd);
		errno = EOPNOTSUPP;
	}
	return fd;
}

static int add(struct report *report, const struct stat *status, const char *name)
{
	size_t room = sizeof report->entries - report->size;
	size_t size = files_entry(report->entries + report->size, room, status, "", name);
	if (size >= room)
		return E2BIG;
	report->size += size;
	return 0;
}

static int add_all(struct report *report, DIR *directory)
{
	int error = 0;
	for (struct dirent *each; !error && (errno = 0, each = readdir(directory));) {
		struct stat status;
		if (strcmp(each->d_name, ".") == 0 || strcmp(each->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(directory), each->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
			error = add(report, &status, each->d_name);
		else if (errno != ENOENT) // it is gone by now
			error = errno;
	}
	return error ? error : errno;
}

void contents_list(struct report *report)
{
	int fd = open_workspace();
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	report->size = 0;
	report->error = directory ? add_all(report, directory) : errno;
	if (directory)
		closedir(directory);
	else
		close_fd(&fd);
	if (report->error)
		report->size = 0;
}

/* False: the socket is full. */
bool contents_tell(const struct report *report, int control, enum message_type type, uint32_t exec)
{
	char body[sizeof report->error + sizeof report->entries];
	memcpy(body, &report->error, sizeof report->error);
	memcpy(body + sizeof report->error, report->entries, report->size);
	return message_send(control, type, exec, body, sizeof report->error + report->size, -1);
}

/*
 * KERNEL: before Linux 6.13 a file that is changed within one tick, 10 ms at most, has the time of
 * before. So what we write is a little older than what commands write.
 */
static bool set_back(int fd)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	clock_gettime(CLOCK_REALTIME, &times[1]);
	times[1].tv_sec -= times[1].tv_nsec < TICK;
	times[1].tv_nsec += times[1].tv_nsec < TICK ? 1000000000 - TICK : -TICK;
	return futimens(fd, times) == 0;
}

static int make(int workspace, const char *name, mode_t mode, const void *data, size_t size,
                struct report *report)
{
	struct stat status;
	int fd = openat(workspace, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	int error = files_put(fd, data, size);
	if (!error && (fchmod(fd, mode) != 0 || !set_back(fd) || fstat(fd, &status) != 0))
		error = errno;
	if (!error)
		error = add(report, &status, name);
	if (error)
		unlinkat(workspace, name, 0);
	close_fd(&fd);
	return error;
}

void contents_write_file(const char *name, mode_t mode, const void *data, size_t size,
                         struct report *report)
{
	bool is_name = name[0] != '\0' && !strchr(name, '/');
	int workspace = is_name ? open_workspace() : (errno = EINVAL, -1);
	report->size = 0;
	report->error = workspace < 0 ? errno : make(workspace, name, mode, data, size, report);
	close_fd(&workspace);
}
