// Files of the host for the box: cloned, owned by the box's uid, out of everyone else's sight.
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init.h"

#define STAGE "/tmp"

static void find_name(int fd, char *name, size_t size)
{
	char link[32];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, size - 1);
	name[n > 0 ? n : 0] = '\0';
}

static bool write_map(pid_t pid, const char *map, const char *lines)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, map);
	return write_at(AT_FDCWD, path, lines);
}

static bool map_one(pid_t pid, const char *map, unsigned inside, unsigned outside)
{
	char line[32];
	snprintf(line, sizeof line, "%u %u 1", inside, outside);
	return write_map(pid, map, line);
}

/*
 * A user namespace in which the owner on disk is the box's uid. It lives as
 * long as its descriptor; the process only carries it for a moment.
 */
static int open_id_map(const struct stat *owner, uid_t uid, gid_t gid)
{
	char path[48];
	int fd = -1;
	pid_t pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return -1;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	if (map_one(pid, "uid_map", owner->st_uid, uid) &&
	    map_one(pid, "gid_map", owner->st_gid, gid)) {
		snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	int error = errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	errno = error;
	return fd;
}

static bool set_attributes(int tree, bool is_writable, int id_map)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	                                .propagation = MS_PRIVATE};
	if (!is_writable)
		attributes.attr_set |= MOUNT_ATTR_RDONLY;
	if (id_map >= 0) {
		attributes.attr_set |= MOUNT_ATTR_IDMAP;
		attributes.userns_fd = id_map;
	}
	return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
	                     sizeof attributes) == 0;
}

static bool give_to_box(int tree, const struct mount_source *source, uid_t uid, gid_t gid)
{
	struct stat owner;
	if (fstat(source->fd, &owner) != 0)
		return false;
	if (owner.st_uid == uid && owner.st_gid == gid)
		return set_attributes(tree, source->is_writable, -1);
	int id_map = open_id_map(&owner, uid, gid);
	bool is_given = id_map >= 0 && set_attributes(tree, source->is_writable, id_map);
	close_fd(&id_map);
	return is_given;
}

static int clone_tree(const struct mount_source *source, uid_t uid, gid_t gid)
{
	char name[512];
	find_name(source->fd, name, sizeof name);
	int tree = open_tree(source->fd, "",
	                     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0)
		die("clone the mount of %s", name);
	if (give_to_box(tree, source, uid, gid))
		return tree;
	if (source->is_writable)
		die("map the owner of %s for a writable mount (:ro works)", name);
	if (!set_attributes(tree, false, -1))
		die("make a read-only mount of %s", name);
	return tree;
}

static void make_target(char *target, size_t size, size_t number, const struct stat *root)
{
	snprintf(target, size, STAGE "/%zu", number);
	int made = S_ISDIR(root->st_mode) ? mkdir(target, 0700) : mknod(target, S_IFREG, 0);
	if (made != 0)
		die("make %s", target);
}

static void place(int tree, size_t number)
{
	struct stat root;
	char target[48];
	if (fstat(tree, &root) != 0)
		die("look at mount %zu", number);
	make_target(target, sizeof target, number, &root);
	if (move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		die("mount %s", target);
	close(tree);
}

// -------------------------------------------------- without CAP_SYS_ADMIN

static bool has_capability(int number)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	return syscall(SYS_capget, &header, data) == 0 &&
	       (data[number / 32].effective >> (number % 32) & 1) != 0;
}

static void map_ids(pid_t pid, const char *map, unsigned own, unsigned box)
{
	char lines[64];
	snprintf(lines, sizeof lines, own == box ? "%u %u 1" : "%u %u 1\n%u %u 1", own, own, box,
	         box);
	if (!write_map(pid, map, lines))
		die("map ids of a user namespace for --mount");
}

/*
 * A user namespace in which every uid stays as it was, but we may mount. A process that may not
 * change its uid may map only its own, and only by itself; else a child of ours, out here, maps both.
 */
static void enter_user_namespace(uid_t uid, gid_t gid)
{
	uid_t own_uid = geteuid();
	gid_t own_gid = getegid();
	pid_t self = getpid();
	int go[2];
	char byte;
	if (pipe2(go, O_CLOEXEC) != 0)
		die("open a pipe");
	pid_t mapper = own_uid == uid ? 0 : fork();
	if (mapper == 0 && own_uid != uid) {
		close(go[1]); // so that our end is the end of file
		if (read(go[0], &byte, 1) != 1)
			_exit(EXIT_FAILURE);
		map_ids(self, "uid_map", own_uid, uid);
		map_ids(self, "gid_map", own_gid, gid);
		_exit(EXIT_SUCCESS);
	}
	if (mapper < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		die("make a user namespace for --mount");
	if (mapper == 0) {
		write_at(AT_FDCWD, "/proc/self/setgroups", "deny");
		map_ids(self, "uid_map", own_uid, uid);
		map_ids(self, "gid_map", own_gid, gid);
	} else {
		int status;
		errno = 0;
		if (write(go[1], "", 1) != 1 || waitpid(mapper, &status, 0) != mapper || status != 0)
			die("map ids of a user namespace for --mount");
	}
	close(go[0]);
	close(go[1]);
}

/*
 * KERNEL: a mount can be bound only in the namespace it is in, and ours is new: so it is opened by
 * name once more. RACE: whatever the name means by now, it is used only if it is what was opened.
 */
static int open_again(const struct mount_source *source, uid_t uid)
{
	char name[512];
	struct stat wanted, found;
	find_name(source->fd, name, sizeof name);
	int fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &found) != 0 || fstat(source->fd, &wanted) != 0)
		die("open %s again", name);
	errno = ESTALE;
	if (found.st_dev != wanted.st_dev || found.st_ino != wanted.st_ino)
		die("open %s again", name);
	errno = 0;
	if (source->is_writable && found.st_uid != uid)
		die("map the owner of %s for a writable mount without CAP_SYS_ADMIN (:ro works)", name);
	return fd;
}

/* bwrap ensures that nothing of it is a device, or writable unless requested. */
static void bind_to(int fd, size_t number)
{
	char source[32], target[48];
	struct stat root;
	snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
	if (fstat(fd, &root) != 0)
		die("look at mount %zu", number);
	make_target(target, sizeof target, number, &root);
	if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) != 0)
		die("bind %s", target);
	close(fd);
}

// ----------------------------------------------------------------------------

void mounts_stage(const struct mount_source *sources, size_t count, uid_t uid, gid_t gid)
{
	int trees[count];
	bool is_privileged = has_capability(CAP_SYS_ADMIN);
	if (!is_privileged)
		enter_user_namespace(uid, gid);
	// KERNEL: a mount can be cloned only from the namespace it is in, so before unshare.
	for (size_t i = 0; i < count; i++)
		trees[i] = is_privileged ? clone_tree(&sources[i], uid, gid)
		                         : open_again(&sources[i], uid);
	if (is_privileged && unshare(CLONE_NEWNS) != 0)
		die("make a mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		die("make mounts private");
	if (mount("ebb", STAGE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0711,size=64k") != 0)
		die("mount a tmpfs on " STAGE);
	for (size_t i = 0; i < count; i++)
		is_privileged ? place(trees[i], i) : bind_to(trees[i], i);
}
