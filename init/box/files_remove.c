// Removal, of one entry or of a tree of any depth.
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "files.h"

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

/*
 * RACE: an entry may be gone, and an entry that is a link by now is removed as
 * a link in the next round.
 */
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

/* RACE: what was moved meanwhile has another parent, whose content must stay. */
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
 * mount it is EBUSY, so it is not descended into.
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
	DIR *entries = files_open_directory(directory, ".", 0);
	if (!entries)
		return errno;
	int error = 0;
	for (struct dirent *each; !error && (errno = 0, each = readdir(entries));) {
		if (files_is_dots(each->d_name))
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
	int error = files_find_place(path, &place);
	if (error)
		return error;
	return files_is_dots(place.name) ? EINVAL : remove_at(&place, is_recursive);
}

int files_remove(char **argv)
{
	return remove_path(argv[1], false);
}

int files_remove_tree(char **argv)
{
	return strcmp(argv[2], "recursive") == 0 ? remove_path(argv[1], true) : EINVAL;
}
