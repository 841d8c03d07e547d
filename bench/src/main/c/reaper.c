// The cheapest way from a running command to nothing: cgroup.kill, waitpid for each, rmdir. For each byte on stdin it
// runs a command until that writes a byte or is done, ends it, and answers how many nanoseconds the end took.
//   reaper CGROUP -- COMMAND ARGUMENT…
//     the command in a new cgroup, and nothing else
//   reaper --box CGROUP VERSION1… -- COMMAND ARGUMENT…
//     with what a box has: a pid 1 in namespaces of its own, as many cgroups in version 2, and one in each hierarchy of
//     version 1
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CGROUPS_MAX 16
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET)

struct command {
	bool is_box;
	char **version1;
	char **argv;
	char cgroups[CGROUPS_MAX][4096]; // parents first; the first is the one to kill
	int count;
	const char *init, *leaf; // where pid 1 goes, and the command
};

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static bool put(const char *cgroup, const char *file, const char *text)
{
	char path[8192];
	snprintf(path, sizeof path, "%s/%s", cgroup, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, 1) == 1;
	close(fd);
	return done;
}

static const char *name(struct command *command, const char *parent, const char *child)
{
	if (command->count == CGROUPS_MAX)
		_exit(2);
	char *path = command->cgroups[command->count++];
	snprintf(path, sizeof command->cgroups[0], "%s%s", parent, child);
	return path;
}

static bool parse(struct command *command, char **words)
{
	if (words[0] && strcmp(words[0], "--box") == 0) {
		command->is_box = true;
		words++;
	}
	if (!*words)
		return false;
	command->leaf = name(command, *words, "");
	if (command->is_box) {
		command->init = name(command, *words, "/init");
		name(command, *words, "/work");
		command->leaf = name(command, *words, "/work/1");
	}
	command->version1 = words + 1;
	for (words++; *words && strcmp(*words, "--") != 0; words++)
		name(command, *words, "");
	command->argv = *words ? words + 1 : words;
	return *command->argv;
}

static void run(const struct command *command, int ready)
{
	char *environment[] = {"PATH=/usr/bin:/bin", NULL};
	int null = open("/dev/null", O_RDWR);
	dup2(null, STDIN_FILENO);
	dup2(ready, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (put(command->leaf, "cgroup.procs", "0"))
		execve(command->argv[0], command->argv, environment);
	_exit(127);
}

// Pid 1, which must stay as long as the command. Its namespaces are those that Ebb asks of bwrap; that of cgroups comes
// last, for from inside it the leaf could be out of reach.
static void be_init(const struct command *command, int ready)
{
	bool joined = put(command->init, "cgroup.procs", "0");
	for (char **path = command->version1; strcmp(*path, "--") != 0; path++)
		joined = joined && put(*path, "tasks", "0");
	pid_t pid = joined ? fork() : -1;
	if (pid == 0)
		run(command, ready);
	close(ready);
	unshare(CLONE_NEWCGROUP);
	while (pid > 0 && waitpid(-1, NULL, 0) > 0)
		;
	_exit(127);
}

static pid_t begin(const struct command *command, int ready)
{
	pid_t pid = syscall(SYS_clone, SIGCHLD | (command->is_box ? NAMESPACES : 0), 0, 0, 0, 0);
	if (pid != 0)
		return pid;
	if (command->is_box)
		be_init(command, ready);
	run(command, ready);
	return 0;
}

static bool start(const struct command *command)
{
	char byte;
	int pipes[2];
	for (int i = 0; i < command->count; i++)
		if (mkdir(command->cgroups[i], 0755) != 0)
			return false;
	if (pipe2(pipes, O_CLOEXEC) != 0)
		return false;
	pid_t pid = begin(command, pipes[1]);
	close(pipes[1]);
	bool up = pid > 0 && read(pipes[0], &byte, 1) == 1;
	close(pipes[0]);
	return up;
}

static bool end(const struct command *command)
{
	bool done = put(command->cgroups[0], "cgroup.kill", "1");
	while (waitpid(-1, NULL, 0) > 0)
		;
	for (int i = command->count - 1; i >= 0; i--)
		done = rmdir(command->cgroups[i]) == 0 && done;
	return done;
}

int main(int argc, char **argv)
{
	static struct command command;
	(void)argc;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!parse(&command, argv + 1))
		return 2;
	for (char byte; read(STDIN_FILENO, &byte, 1) == 1;) {
		bool up = start(&command);
		uint64_t begun = now();
		bool gone = end(&command);
		uint64_t took = now() - begun;
		if (!up || !gone || write(STDOUT_FILENO, &took, sizeof took) != sizeof took)
			return 1;
	}
	return 0;
}
