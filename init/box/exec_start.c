// The start of a command: its pipes or its terminal, its tree, its limits.
#include <sys/epoll.h>
#include <sys/resource.h>

#include "exec.h"

static bool open_pipe(struct exec *exec, int *reader, int *writer, enum exec_source source)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	*reader = ends[0];
	*writer = ends[1];
	return fcntl(*reader, F_SETFL, O_NONBLOCK) == 0 && exec_watch(exec, *reader, source);
}

/* A piped command writes directly to its reader, at the speed of that reader. */
static void take_piped(struct start *start, struct message *message)
{
	int *last = &message->fds[message->fd_count - 1];
	start->outputs[0] = *last;
	*last = -1; // ours now
}

static bool open_pipes(struct exec *exec, struct start *start, struct message *message)
{
	struct stream *streams = exec->streams;
	if (start->is_piped)
		take_piped(start, message);
	return (start->is_piped ||
	        open_pipe(exec, &streams[0].pipe, &start->outputs[0], SOURCE_STDOUT)) &&
	       open_pipe(exec, &streams[1].pipe, &start->outputs[1], SOURCE_STDERR);
}

static bool open_terminal(struct exec *exec, struct start *start)
{
	exec->terminal = calloc(1, sizeof *exec->terminal);
	if (!exec->terminal)
		return false;
	exec->terminal->input = -1;
	exec->terminal->interest = EPOLLIN;
	exec->streams[0].pipe = terminal_open(&start->request, &start->slave);
	return exec->streams[0].pipe >= 0 && exec_watch(exec, exec->streams[0].pipe, SOURCE_STDOUT);
}

/* KERNEL: only a oneshot watch that has fired does not report the end of a pipe again and again. */
static bool take_input(struct exec *exec, struct message *message)
{
	int *input = &message->fds[message->fd_count - 1];
	if (fcntl(*input, F_SETFL, O_NONBLOCK) != 0 ||
	    !exec_control(exec, EPOLL_CTL_ADD, *input, SOURCE_INPUT, EPOLLIN | EPOLLONESHOT))
		return false;
	exec->terminal->input = *input;
	*input = -1; // ours now
	return true;
}

/* What the command reads and writes. */
static bool connect_streams(struct exec *exec, struct start *start, struct message *message)
{
	bool has_input = start->request.flags & START_HAS_STDIN;
	if (!(start->request.flags & START_TERMINAL))
		return open_pipes(exec, start, message);
	return open_terminal(exec, start) && (!has_input || take_input(exec, message));
}

static enum start_step launch_subreaper(struct exec *exec, struct start *start)
{
	int news = -1;
	pid_t subreaper = -1;
	if (open_pipe(exec, &exec->tree.events, &news, SOURCE_TREE))
		subreaper = subreaper_fork(start, news);
	close_fd(&news);
	if (subreaper < 0)
		return STEP_CLONE;
	exec->tree.subreaper = subreaper;
	return 0;
}

/* Everything that can fail comes before the fork; returns where it did, or 0. */
static enum start_step launch(struct exec *exec, struct start *start, struct message *message)
{
	if (!connect_streams(exec, start, message) ||
	    !open_pipe(exec, &exec->failure, &start->failure, SOURCE_FAILURE))
		return STEP_LIMITS;
	bool has_files = start->files[0] >= 0;
	if (start->leaf < 0 && !has_files)
		return launch_subreaper(exec, start);
	if (!(has_files ? tree_take(&exec->tree, start->files) : tree_open(&exec->tree, start->leaf)) ||
	    !exec_watch(exec, exec->tree.events, SOURCE_TREE))
		return STEP_CLONE;
	exec->leader = start_fork(start);
	return exec->leader < 0 ? STEP_CLONE : 0;
}

void exec_start(struct exec *exec, struct message *message)
{
	struct start start = {.outputs = {-1, -1}, .failure = -1, .slave = -1};
	if (!start_parse(&start, message)) {
		exec_refuse(exec, message->header.exec, STEP_REQUEST, EINVAL);
		return;
	}
	uint64_t cpu_before = cpu_of_the_dead();
	enum start_step failed = launch(exec, &start, message);
	int error = errno;
	start_resume = NULL; // what we receive from now on is in no copy of us
	close_fd(&start.outputs[0]);
	close_fd(&start.outputs[1]);
	close_fd(&start.failure);
	close_fd(&start.slave);
	if (failed) {
		exec_refuse(exec, message->header.exec, failed, error);
		return;
	}
	exec->id = message->header.exec;
	exec->phase = EXEC_RUNNING;
	exec->keep = start.request.flags & START_KEEP;
	exec->limit = exec->room = start.request.output_limit;
	exec->grace = start.request.grace_ms;
	exec->deadline = start.request.timeout_ms ? after(start.request.timeout_ms) : NEVER;
	exec->memory = start.request.memory;
	exec->processes = start.request.processes;
	exec->cpu_before = cpu_before;
	exec->is_buffered = start.request.flags & START_BUFFERED;
	exec->has_segments = start.request.flags & START_SEGMENTS;
	exec->lists = start.request.flags & START_LIST;
	for (int i = 0; i < 2; i++) {
		exec->streams[i].is_in_memory = exec->is_buffered;
		if (exec->is_buffered)
			continue;
		exec->streams[i].log = start.logs[i];
		message->fds[i] = -1; // ours now
	}
}

static bool limit_anew(const struct exec *exec, const struct start_request *request)
{
	bool has_share = exec->tree.subreaper && request->processes;
	return limit_other(exec->leader, RLIMIT_NOFILE, request->open_files) &&
	       limit_other(exec->leader, RLIMIT_FSIZE, request->file_size) &&
	       (!request->data_size ||
	        limit_other(exec->leader, RLIMIT_DATA, request->data_size)) &&
	       (!has_share ||
	        limit_other(exec->leader, RLIMIT_NPROC, subreaper_processes(request->processes)));
}

/* A command that cannot be limited does not run. */
void exec_rearm(struct exec *exec, const struct start_request *request)
{
	if (exec->phase != EXEC_RUNNING)
		return;
	exec->keep = request->flags & START_KEEP;
	exec->lists = request->flags & START_LIST;
	exec->limit = exec->room = request->output_limit;
	exec->grace = request->grace_ms;
	exec->deadline = request->timeout_ms ? after(request->timeout_ms) : NEVER;
	exec->memory = request->memory;
	exec->processes = request->processes;
	if (!exec->leader || !limit_anew(exec, request))
		exec_end(exec, END_KILLED, SIGKILL, 0);
}

void exec_refuse(struct exec *exec, uint32_t id, enum start_step step, int error)
{
	exec_release(exec);
	exec->id = id;
	exec->refusal = (struct refusal){step, error};
}

/* Not before exec(2): it is for the command, not for what is to become one. */
void exec_pass_signals(struct exec *exec)
{
	if (!exec->leader || exec->failure >= 0 || exec->phase == EXEC_KILLING)
		return;
	for (int signal = 1; exec->signals; signal++, exec->signals >>= 1)
		if (exec->signals & 1)
			tree_signal(&exec->tree, signal);
}

void exec_hear_start(struct exec *exec)
{
	struct refusal refusal;
	ssize_t n = exec->failure < 0 ? -1 : read(exec->failure, &refusal, sizeof refusal);
	if (n < 0)
		return;
	if (n == sizeof refusal && refusal.step >= STEP_CLONE && refusal.step <= STEP_EXEC)
		exec->refusal = refusal;
	else
		exec->is_started = exec->started_due = true;
	exec->started_late = after(STARTED_LATE);
	exec_unwatch(exec, &exec->failure);
	exec_pass_signals(exec);
}
