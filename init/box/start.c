// From START to exec(2): the request taken apart, and the child that becomes the command.
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "init.h"

#define START_FLAGS                                                                                \
	(START_HAS_STDIN | START_KEEP | START_HAS_LEAF | START_TERMINAL | START_FILE |             \
	 START_BUFFERED | START_RESUMED | START_SEGMENTS | START_LIST | START_PIPED |              \
	 START_LEAF_FILES)

void (*start_resume)(char **environment);

static bool parse_strings(struct start *start, char *text, size_t size)
{
	uint64_t expected = 1 + (uint64_t)start->request.argc + start->request.envc, found = 0;
	if (start->request.argc == 0 || size == 0 || text[size - 1] != '\0')
		return false;
	for (size_t i = 0; i < size; i++)
		found += text[i] == '\0';
	start->workdir = text;
	start->strings = text + strlen(text) + 1;
	return found == expected;
}

bool start_parse(struct start *start, const struct message *message)
{
	struct start_request *request = &start->request;
	if (message->header.size < sizeof *request)
		return false;
	memcpy(request, message->body, sizeof *request);

	bool has_leaf = request->flags & START_HAS_LEAF;
	bool has_input = request->flags & START_HAS_STDIN;
	bool has_terminal = request->flags & START_TERMINAL;
	bool is_file = request->flags & START_FILE;
	bool is_buffered = request->flags & START_BUFFERED;
	bool is_resumed = request->flags & START_RESUMED;
	bool has_segments = request->flags & START_SEGMENTS;
	bool is_piped = request->flags & START_PIPED;
	unsigned count = is_buffered ? 0 : 2;
	start->logs[0] = is_buffered ? -1 : message->fds[0];
	start->logs[1] = is_buffered ? -1 : message->fds[1];
	start->leaf = -1;
	start->files[0] = start->files[1] = start->files[2] = -1;
	if (request->flags & START_LEAF_FILES) {
		if (!has_leaf || message->fd_count < count + 2 + has_input + is_piped)
			return false;
		start->files[0] = message->fds[count++];
		start->files[1] = message->fds[count++];
		if (message->fd_count > count + has_input + is_piped)
			start->files[2] = message->fds[count++];
	} else if (has_leaf) {
		start->leaf = message->fds[count++];
	}
	start->input = has_input ? message->fds[count++] : STDIN_FILENO;
	start->is_piped = is_piped;
	count += is_piped; // the last one
	if (message->fd_count != count || (request->flags & ~START_FLAGS) != 0 ||
	    (is_resumed && (!start_resume || has_terminal || is_file)) ||
	    (has_segments && (!is_buffered || is_file)) ||
	    (is_piped && (!is_buffered || has_input || has_segments || is_resumed)) ||
	    (has_terminal && (is_file || is_buffered)) || (!has_terminal && (request->rows || request->columns)))
		return false;
	return parse_strings(start, (char *)message->body + sizeof *request,
	                     message->header.size - sizeof *request);
}

noreturn void start_refuse(const struct start *start, enum start_step step, int error)
{
	struct refusal refusal = {step, error};
	(void)!write(start->failure, &refusal, sizeof refusal);
	_exit(127);
}

static char **vector(char **strings, uint32_t count)
{
	char **list = calloc((size_t)count + 1, sizeof *list);
	for (uint32_t i = 0; list && i < count; i++) {
		list[i] = *strings;
		*strings += strlen(*strings) + 1;
	}
	return list;
}

static bool become_standard(int input, int output, int error)
{
	return dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
	       dup2(error, STDERR_FILENO) >= 0;
}

/* ORDER: after setsid, by which we lead a session that has no terminal yet. */
static bool take_terminal(int slave)
{
	return ioctl(slave, TIOCSCTTY, 0) == 0 && become_standard(slave, slave, slave);
}

static bool take_descriptors(const struct start *start)
{
	bool is_taken = start->slave >= 0
	                        ? take_terminal(start->slave)
	                        : become_standard(start->input, start->outputs[0], start->outputs[1]);
	if (!is_taken)
		return false;
	// ORDER: now, and not by exec: while that hangs in a file system, we would hold the
	// pipes of other execs.
	keep_only(&start->failure, 1);
	return true;
}

/*
 * Rather the command than init, when the box has eaten its memory: with init
 * all of the box would go. SAFETY: only under the filter. /proc is ours only
 * while others of our uid may write to our memory, and they are filtered, too.
 */
static void offer_to_oom_killer(void)
{
	prctl(PR_SET_DUMPABLE, 1);
	write_at(AT_FDCWD, "/proc/self/oom_score_adj", "500");
	prctl(PR_SET_DUMPABLE, 0); // until exec we are a copy of init
}

noreturn void start_run(const struct start *start)
{
	const struct start_request *request = &start->request;
	char *strings = start->strings;
	char **argv = vector(&strings, request->argc);
	char **environment = vector(&strings, request->envc);

	setsid();
	unblock_signals(); // init and subreapers block some, and leave all dispositions as they were
	if (!argv || !environment || !take_descriptors(start))
		start_refuse(start, STEP_LIMITS, errno);
	if (chdir(start->workdir) != 0)
		start_refuse(start, STEP_WORKDIR, errno);
	if (!limit(RLIMIT_NOFILE, request->open_files) ||
	    !limit(RLIMIT_FSIZE, request->file_size) ||
	    (request->data_size && !limit(RLIMIT_DATA, request->data_size)) ||
	    !seccomp_restrict_command())
		start_refuse(start, STEP_LIMITS, errno);
	offer_to_oom_killer();
	if (request->flags & START_FILE) {
		close(start->failure); // as exec would
		files_run(request->argc, argv);
	}
	if (request->flags & START_RESUMED) {
		close(start->failure); // the same
		start_resume(environment);
	}
	environ = environment; // where execvp finds the PATH: the command's, not ours
	execvp(argv[0], argv);
	start_refuse(start, STEP_EXEC, errno);
}

pid_t start_fork(const struct start *start)
{
	int join_error;
	pid_t pid = start->files[0] >= 0 ? fork_and_join(start->files[0], &join_error)
	                                 : fork_into(start->leaf, &join_error);
	if (pid != 0)
		return pid;
	if (join_error)
		start_refuse(start, STEP_CLONE, join_error);
	start_run(start);
}
