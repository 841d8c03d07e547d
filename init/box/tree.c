// All processes of one exec. Neither its cgroup leaf nor its subreaper misses one: not after
// setsid, nor after a double fork.
#include "init.h"

/* Opens all that a kill needs, so that a kill at a full table of descriptors works. */
bool tree_open(struct tree *tree, int leaf)
{
	tree->kill = openat(leaf, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	tree->procs = openat(leaf, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	tree->events = openat(leaf, "cgroup.events", O_RDONLY | O_CLOEXEC);
	return tree->procs >= 0 && tree->events >= 0;
}

/* Takes copies of the files that the engine sent instead of the directory. */
bool tree_take(struct tree *tree, const int files[3])
{
	tree->procs = fcntl(files[0], F_DUPFD_CLOEXEC, 0);
	tree->events = fcntl(files[1], F_DUPFD_CLOEXEC, 0);
	tree->kill = files[2] < 0 ? -1 : fcntl(files[2], F_DUPFD_CLOEXEC, 0);
	return tree->procs >= 0 && tree->events >= 0 && (files[2] < 0 || tree->kill >= 0);
}

bool tree_has_leaf(const struct tree *tree)
{
	return tree->procs >= 0;
}

void tree_close(struct tree *tree)
{
	close_fd(&tree->procs);
	close_fd(&tree->events);
	close_fd(&tree->kill);
}

/* KERNEL: a member that is dead but not reaped no longer counts. */
bool tree_is_empty(const struct tree *tree)
{
	char text[256];
	if (!tree_has_leaf(tree))
		return !tree->subreaper && (!tree->has_strays || subreaper_is_empty(0));
	ssize_t n = pread(tree->events, text, sizeof text - 1, 0);
	if (n < 0)
		return errno == ENODEV; // the leaf itself is gone
	text[n] = '\0';
	return strstr(text, "populated 0") != NULL;
}

/*
 * RACE: a member may end, be reaped by its parent, and its pid be given to
 * another process of this box before we signal it. cgroup.kill has no such
 * window, which is why only the polite signal goes by pid.
 */
unsigned tree_signal(const struct tree *tree, int signal)
{
	char text[4096];
	unsigned members = 0;
	pid_t pid = 0;
	ssize_t n;

	if (!tree_has_leaf(tree))
		return subreaper_signal(tree->subreaper, signal);
	lseek(tree->procs, 0, SEEK_SET);
	while ((n = read(tree->procs, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (text[i] != '\n') {
				pid = pid * 10 + (text[i] - '0');
				continue;
			}
			if (pid > 1 && kill(pid, signal) == 0)
				members++;
			pid = 0;
		}
	return members;
}

/* KERNEL: cgroup.procs shows a process outside the reader's pid namespace as 0. */
unsigned tree_strangers(const struct tree *tree)
{
	char text[4096];
	unsigned strangers = 0;
	char last = '\n';
	ssize_t n;

	if (!tree_has_leaf(tree))
		return 0;
	lseek(tree->procs, 0, SEEK_SET);
	while ((n = read(tree->procs, text, sizeof text)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (last == '\n' && text[i] == '0')
				strangers++;
			last = text[i];
		}
	return strangers;
}

/*
 * One write to cgroup.kill is enough. Without it the caller repeats the round
 * until the tree is empty: members may have forked during it.
 */
bool tree_kill(struct tree *tree)
{
	if (!tree_has_leaf(tree)) {
		subreaper_doom(tree->subreaper);
		return !tree->has_strays;
	}
	if (tree->kill >= 0 && write(tree->kill, "1", 1) == 1)
		return true;
	close_fd(&tree->kill);
	tree_signal(tree, SIGKILL);
	return false;
}
