// One command as pid 1 sees it: its start, its output, and the end of its whole tree.
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "init.h"

#define OUTPUT_CHUNK (64 * 1024)
#define STUCK_AFTER 5000 /* ms since SIGKILL */
#define SETTLED_AFTER 20 /* ms, for a shepherd to see that all have ended */
#define LOOK_AGAIN 1     /* ms */

// The beginning of each stream: there may be no log yet, or one that takes nothing because its disk
// is full. Beside the execs, so that looking at all of those is quick.
static char kept[SLOTS][2][OUTPUT_KEPT_MAX];

// The same, of what the workspace held when they ended.
static struct report seen[SLOTS];

void exec_clear(struct exec *exec)
{
	*exec = (struct exec){
		.epoll = exec->epoll,
		.slot = exec->slot,
		.tree = {.events = -1, .procs = -1, .kill = -1},
		.streams = {{.pipe = -1, .log = -1}, {.pipe = -1, .log = -1}},
		.failure = -1,
		.deadline = NEVER,
	};
}

static bool control(struct exec *exec, int operation, int fd, enum exec_source source,
                    uint32_t events)
{
	struct epoll_event event = {.events = events,
	                            .data.u64 = (uint64_t)exec->slot << SOURCE_BITS | source};
	return epoll_ctl(exec->epoll, operation, fd, &event) == 0;
}

static bool watch(struct exec *exec, int fd, enum exec_source source)
{
	bool is_leaf = source == SOURCE_TREE && !tree_is_herd(&exec->tree);
	return control(exec, EPOLL_CTL_ADD, fd, source, is_leaf ? EPOLLPRI : EPOLLIN);
}

// KERNEL: a child between fork and exec shares the file; close alone would not end the watch.
static void unwatch(struct exec *exec, int *fd)
{
	if (*fd >= 0)
		epoll_ctl(exec->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close_fd(fd);
}

static void release(struct exec *exec)
{
	if (exec->terminal)
		unwatch(exec, &exec->terminal->input);
	free(exec->terminal);
	exec->terminal = NULL;
	for (int i = 0; i < 2; i++) {
		unwatch(exec, &exec->streams[i].pipe);
		close_fd(&exec->streams[i].log);
	}
	unwatch(exec, &exec->failure);
	unwatch(exec, &exec->tree.events);
	tree_close(&exec->tree);
	exec->deadline = NEVER;
	exec->phase = EXEC_OVER;
	exec->last_due = true;
}

// ---------------------------------------------------------------------- start

static bool open_pipe(struct exec *exec, int *reader, int *writer, enum exec_source source)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	*reader = ends[0];
	*writer = ends[1];
	return fcntl(*reader, F_SETFL, O_NONBLOCK) == 0 && watch(exec, *reader, source);
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
	return exec->streams[0].pipe >= 0 && watch(exec, exec->streams[0].pipe, SOURCE_STDOUT);
}

/* KERNEL: only a oneshot watch that is over does not tell the end of a pipe again and again. */
static bool take_input(struct exec *exec, struct message *message)
{
	int *input = &message->fds[message->fd_count - 1];
	if (fcntl(*input, F_SETFL, O_NONBLOCK) != 0 ||
	    !control(exec, EPOLL_CTL_ADD, *input, SOURCE_INPUT, EPOLLIN | EPOLLONESHOT))
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

static enum start_step launch_herd(struct exec *exec, struct start *start)
{
	int news = -1;
	pid_t shepherd = -1;
	if (open_pipe(exec, &exec->tree.events, &news, SOURCE_TREE))
		shepherd = herd_fork(start, news);
	close_fd(&news);
	if (shepherd < 0)
		return STEP_CLONE;
	exec->tree.shepherd = shepherd;
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
		return launch_herd(exec, start);
	if (!(has_files ? tree_take(&exec->tree, start->files) : tree_open(&exec->tree, start->leaf)) ||
	    !watch(exec, exec->tree.events, SOURCE_TREE))
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
	start_resume = NULL; // what we hear from now on is in no copy of us
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
	exec->is_kept = start.request.flags & START_KEPT;
	exec->has_sections = start.request.flags & START_SECTIONS;
	exec->looks = start.request.flags & START_LOOK;
	for (int i = 0; i < 2; i++) {
		exec->streams[i].is_in_memory = exec->is_kept;
		if (exec->is_kept)
			continue;
		exec->streams[i].log = start.logs[i];
		message->fds[i] = -1; // ours now
	}
}

static bool limit_anew(const struct exec *exec, const struct start_request *request)
{
	bool has_share = exec->tree.shepherd && request->processes;
	return limit_other(exec->leader, RLIMIT_NOFILE, request->open_files) &&
	       limit_other(exec->leader, RLIMIT_FSIZE, request->file_size) &&
	       (!request->data_size ||
	        limit_other(exec->leader, RLIMIT_DATA, request->data_size)) &&
	       (!has_share ||
	        limit_other(exec->leader, RLIMIT_NPROC, herd_processes(request->processes)));
}

/* One that cannot be limited shall not run. */
void exec_renew(struct exec *exec, const struct start_request *request)
{
	if (exec->phase != EXEC_RUNNING)
		return;
	exec->keep = request->flags & START_KEEP;
	exec->looks = request->flags & START_LOOK;
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
	release(exec);
	exec->id = id;
	exec->refusal = (struct refusal){step, error};
}

/* Not before exec(2): it is for the command, not for what is to become one. */
static void pass_signals(struct exec *exec)
{
	if (!exec->leader || exec->failure >= 0 || exec->phase == EXEC_KILLING)
		return;
	for (int signal = 1; exec->signals; signal++, exec->signals >>= 1)
		if (exec->signals & 1)
			tree_signal(&exec->tree, signal);
}

static void hear_of_start(struct exec *exec)
{
	struct refusal refusal;
	ssize_t n = exec->failure < 0 ? -1 : read(exec->failure, &refusal, sizeof refusal);
	if (n < 0)
		return;
	if (n == sizeof refusal && refusal.step >= STEP_CLONE && refusal.step <= STEP_EXEC)
		exec->refusal = refusal;
	else
		exec->is_started = exec->started_due = true;
	unwatch(exec, &exec->failure);
	pass_signals(exec);
}

// --------------------------------------------------------------------- output

static char *kept_output(const struct exec *exec, const struct stream *stream)
{
	return kept[exec->slot][stream - exec->streams];
}

/* How much of it the log took. One that did not take all is done with. */
static size_t write_log(struct stream *stream, const char *data, size_t size)
{
	size_t done = 0;
	while (done < size && stream->log >= 0) {
		ssize_t n = write(stream->log, data + done, size - done);
		if (n > 0) {
			done += n;
		} else if (n == 0 || errno != EINTR) {
			stream->error = n == 0 ? EIO : errno;
			close_fd(&stream->log);
		}
	}
	return done;
}

/* Its beginning, whether a log takes it or not. */
static size_t remember(const struct exec *exec, struct stream *stream, const char *data,
                       size_t size)
{
	if (stream->size >= OUTPUT_KEPT_MAX)
		return 0;
	size_t room = OUTPUT_KEPT_MAX - stream->size;
	size_t n = size < room ? size : room;
	memcpy(kept_output(exec, stream) + stream->size, data, n);
	return n;
}

/*
 * To the log, or to memory if that holds all there is so far. What fits nowhere is lost, and all
 * that follows: a stream that is short says so, but has no gap.
 */
static void store_output(struct exec *exec, struct stream *stream, const char *data, size_t size)
{
	size_t stored = 0;
	if (stream->lost == 0) {
		size_t remembered = remember(exec, stream, data, size);
		stored = write_log(stream, data, size);
		if (stream->log < 0 && stream->size + stored <= OUTPUT_KEPT_MAX) {
			stream->is_in_memory = true;
			stored = remembered;
		}
	}
	stream->size += stored;
	stream->lost += size - stored;
	if (stored < size && exec->ended.log_errno == 0)
		exec->ended.log_errno = stream->error;
	exec->output_due = exec->output_due || stored > 0;
}

static void take_output(struct exec *exec, struct stream *stream, const char *data, size_t size)
{
	if (exec->ended.flags & ENDED_TRUNCATED)
		return;
	if (size <= exec->room) {
		exec->room -= size;
		store_output(exec, stream, data, size);
		return;
	}
	store_output(exec, stream, data, exec->room);
	exec->ended.flags |= ENDED_TRUNCATED;
	if (!exec->has_sections)
		exec_end(exec, END_OUTPUT_LIMIT, SIGTERM, exec->grace);
}

static void heed_pipes(struct exec *exec, uint32_t events)
{
	for (int i = 0; i < 2; i++)
		if (exec->streams[i].pipe >= 0)
			control(exec, EPOLL_CTL_MOD, exec->streams[i].pipe, SOURCE_STDOUT + i, events);
}

/* Until there is a log the pipes are left alone: the command waits, if it goes on writing. */
static void want_logs(struct exec *exec)
{
	exec->is_full = exec->full_due = true;
	heed_pipes(exec, EPOLLET); // KERNEL: their end is told in any case, but once
}

/* One read, so that a flood in one pipe does not keep us from the rest of the box. */
static ssize_t copy_output(struct exec *exec, struct stream *stream, size_t most)
{
	static char chunk[OUTPUT_CHUNK]; // KERNEL: on a stack each page of it is copied after a fork
	bool is_cut = exec->ended.flags & ENDED_TRUNCATED;
	size_t room = exec->is_kept && !is_cut ? OUTPUT_KEPT_MAX - stream->size : sizeof chunk;
	if (exec->is_full || exec->section_due)
		return -1;
	if (room == 0) {
		want_logs(exec);
		return -1;
	}
	ssize_t n = read(stream->pipe, chunk, most < room ? most : room);
	if (exec->terminal && (n > 0 || errno == EIO))
		exec->terminal->is_hung_up = n < 0;
	if (n > 0)
		take_output(exec, stream, chunk, n);
	if (n == 0)
		unwatch(exec, &stream->pipe);
	return n;
}

/* KERNEL: a terminal counts what has arrived, not what is on its way. It holds no more than this. */
static int left_in(const struct exec *exec, const struct stream *stream)
{
	int left = 0;
	if (exec->terminal)
		return OUTPUT_CHUNK;
	return ioctl(stream->pipe, FIONREAD, &left) == 0 ? left : 0;
}

/* What is in the pipes by now: a living writer could go on for ever. */
static void drain(struct exec *exec)
{
	for (int i = 0; i < 2; i++) {
		struct stream *stream = &exec->streams[i];
		int left = stream->pipe < 0 ? 0 : left_in(exec, stream);
		for (ssize_t n; left > 0 && (n = copy_output(exec, stream, left)) > 0;)
			left -= n;
	}
}

// ------------------------------------------------------------------- sections

/* ORDER: what is in the pipes by now was written before the engine asked; all later is the next. */
void exec_cut(struct exec *exec)
{
	if (exec->phase == EXEC_FILLING || exec->phase == EXEC_OVER)
		return; // the last word tells it all
	drain(exec);
	exec->is_to_be_cut = exec->is_full;
	exec->section_due = !exec->is_full;
	if (exec->section_due)
		heed_pipes(exec, EPOLLET);
}

static void begin_section(struct exec *exec)
{
	for (int i = 0; i < 2; i++) {
		struct stream *stream = &exec->streams[i];
		close_fd(&stream->log);
		*stream = (struct stream){.pipe = stream->pipe, .log = -1, .is_in_memory = true};
	}
	exec->section_due = exec->output_due = false;
	exec->is_kept = true;
	exec->room = exec->limit;
	exec->ended.flags &= ~ENDED_TRUNCATED;
	exec->ended.log_errno = 0;
	heed_pipes(exec, EPOLLIN);
}

// ------------------------------------------------------------------- terminal

/* What it waits for follows from what it holds. */
static void heed_terminal(struct exec *exec)
{
	struct terminal *terminal = exec->terminal;
	uint32_t interest = terminal_interest(terminal);
	if (interest != terminal->interest)
		control(exec, EPOLL_CTL_MOD, exec->streams[0].pipe, SOURCE_STDOUT, interest);
	terminal->interest = interest;
	if (terminal->end == 0 && terminal->input >= 0)
		control(exec, EPOLL_CTL_MOD, terminal->input, SOURCE_INPUT, EPOLLIN | EPOLLONESHOT);
}

static void attend_terminal(struct exec *exec, enum exec_source source)
{
	struct stream *stream = &exec->streams[0];
	if (source == SOURCE_INPUT)
		terminal_read(exec->terminal, stream->pipe);
	else
		copy_output(exec, stream, OUTPUT_CHUNK);
	terminal_write(exec->terminal, stream->pipe);
	heed_terminal(exec);
}

void exec_resize(struct exec *exec, uint16_t rows, uint16_t columns)
{
	if (exec->terminal)
		terminal_resize(exec->streams[0].pipe, rows, columns);
}

// ------------------------------------------------------------------------ end

/* RACE: where it joins its leaf by itself it may not be there yet, and cgroup.kill does not wait. */
static void signal_leader(const struct exec *exec, int signal)
{
	if (!tree_is_herd(&exec->tree) && !exec->reaped)
		kill(exec->leader, signal);
}

static void kill_tree(struct exec *exec)
{
	exec->phase = EXEC_KILLING;
	exec->deadline = after(STUCK_AFTER);
	if (exec->tree.shepherd && !exec->leader)
		kill(exec->tree.shepherd, SIGKILL); // it may not have begun
	signal_leader(exec, SIGKILL);
	if (tree_strangers(&exec->tree) > 0)
		exec->ended.flags |= ENDED_STRANGERS;
	exec->kill_again = !tree_kill(&exec->tree);
}

/* Not before there is somebody to hear it: a shepherd tells us when it has a leader. */
static void ask(struct exec *exec)
{
	if (!exec->leader)
		return;
	if (tree_signal(&exec->tree, exec->asked) == 0)
		signal_leader(exec, exec->asked);
	tree_signal(&exec->tree, SIGCONT);
	exec->asked = 0;
}

void exec_signal(struct exec *exec, int signal)
{
	exec->signals |= 1ull << (signal - 1);
	pass_signals(exec);
}

/* The ladder: a signal, the grace, SIGKILL. Who climbs it first gives the reason. */
void exec_end(struct exec *exec, enum end_reason reason, int signal, uint64_t grace)
{
	if (exec->phase == EXEC_RUNNING) {
		exec->phase = EXEC_ENDING;
		exec->ended.reason = reason;
		exec->deadline = NEVER;
	}
	if (exec->phase != EXEC_ENDING)
		return;
	if (grace == 0) {
		kill_tree(exec);
		return;
	}
	uint64_t deadline = after(grace);
	if (deadline < exec->deadline)
		exec->deadline = deadline;
	exec->asked = signal ? signal : SIGTERM;
	ask(exec);
}

static void finish(struct exec *exec)
{
	hear_of_start(exec);
	if (exec->failure >= 0)
		exec->is_started = exec->started_due = true; // stuck before exec(2) was done
	if (exec->phase != EXEC_FILLING)
		exec->ended.ended_ns = now_nanos();
	exec->phase = EXEC_FILLING;
	exec->deadline = NEVER;
	exec->section_due = false;
	drain(exec);
	if (exec->is_full)
		return; // the rest comes when there is a log
	// As if there had been a log when it ended, however late that came.
	if (exec->ended.flags & ENDED_TRUNCATED && !exec->has_sections &&
	    exec->ended.reason == END_BY_ITSELF)
		exec->ended.reason = END_OUTPUT_LIMIT;
	exec->ended.stdout_size = exec->streams[0].size;
	exec->ended.stderr_size = exec->streams[1].size;
	exec->ended.stdout_lost = exec->streams[0].lost;
	exec->ended.stderr_lost = exec->streams[1].lost;
	exec->ended.cpu_us = cpu_of_the_dead() - exec->cpu_before;
	exec->look_due = exec->looks && !(exec->ended.flags & ENDED_STUCK);
	if (exec->look_due)
		contents_look(&seen[exec->slot]);
	release(exec);
}

/* What it does not take stays where it is. */
static void take_log(struct exec *exec, struct stream *stream, int *log)
{
	stream->log = *log;
	*log = -1; // ours now
	stream->is_in_memory =
		write_log(stream, kept_output(exec, stream), stream->size) < stream->size;
}

/* ORDER: what was kept comes first, then what is in the pipes. */
void exec_take_logs(struct exec *exec, struct message *message, int error)
{
	if (!exec->is_full)
		return;
	exec->is_full = exec->is_kept = exec->full_due = false;
	for (int i = 0; i < 2; i++) {
		exec->streams[i].error = error;
		if (!error)
			take_log(exec, &exec->streams[i], &message->fds[i]);
	}
	heed_pipes(exec, EPOLLIN);
	if (exec->is_to_be_cut)
		exec_cut(exec);
	if (exec->phase != EXEC_FILLING)
		return;
	finish(exec);
}

/*
 * No member was seen, so the shepherd is about to end. RACE: unless one daemonised itself behind
 * our back while we looked; that one is a leftover.
 */
static void settle(struct exec *exec)
{
	exec->phase = EXEC_ENDING;
	exec->deadline = after(SETTLED_AFTER);
}

void exec_leader_ended(struct exec *exec, int code, int status)
{
	exec->reaped = true;
	exec->ended.code = code;
	exec->ended.status = status;
	if (exec->section_due)
		heed_pipes(exec, EPOLLIN);
	exec->section_due = false; // its last word tells it
	// RACE: what it wrote came before its death, whichever we notice first. So a command
	// that crossed the output limit always ends for that reason.
	drain(exec);
	bool is_empty = tree_is_empty(&exec->tree);
	exec->ended.leftovers =
		is_empty ? 0 : tree_signal(&exec->tree, 0) + tree_strangers(&exec->tree);
	exec_used(exec, (struct usage){0, 1 + exec->ended.leftovers});
	if (is_empty || (exec->keep && exec->phase == EXEC_RUNNING))
		finish(exec);
	else if (exec->phase == EXEC_RUNNING && exec->tree.shepherd && !exec->ended.leftovers)
		settle(exec);
	else if (exec->phase == EXEC_RUNNING)
		kill_tree(exec);
}

/* RACE: a shepherd that is killed with its herd may yet reap the leader, and tell nobody. */
static void miss_leader(struct exec *exec)
{
	siginfo_t child;
	if (waitid(P_PID, exec->leader, &child, WEXITED | WNOHANG | WNOWAIT) == 0)
		return;
	exec->reaped = true;
	exec->ended.code = CLD_KILLED;
	exec->ended.status = SIGKILL;
}

static void check_tree(struct exec *exec)
{
	bool is_empty = tree_is_empty(&exec->tree);
	if (is_empty && !exec->reaped && tree_is_herd(&exec->tree))
		miss_leader(exec);
	if (is_empty && exec->reaped)
		finish(exec);
	else if (!is_empty && exec->phase == EXEC_KILLING && exec->kill_again)
		exec->kill_again = !tree_kill(&exec->tree); // those forked behind the last round
}

void exec_used(struct exec *exec, struct usage usage)
{
	struct ended *ended = &exec->ended;
	if (usage.memory > ended->peak_memory)
		ended->peak_memory = usage.memory;
	if (usage.processes > ended->peak_processes)
		ended->peak_processes = usage.processes;
	if (exec->processes && usage.processes >= exec->processes)
		ended->flags |= ENDED_CROWDED;
}

static void hear_shepherd(struct exec *exec)
{
	struct news news;
	while (exec->tree.events >= 0 &&
	       read(exec->tree.events, &news, sizeof news) == sizeof news) {
		exec->leader = news.leader;
		exec_used(exec, (struct usage){.memory = news.memory * 1024ull});
		if (news.code && !exec->reaped)
			exec_leader_ended(exec, news.code, news.status);
		else if (exec->asked)
			ask(exec);
	}
	pass_signals(exec);
}

/*
 * Killed, and not by us: a command did it. What it kept belongs to nobody now, and ends. Its
 * leader, if it lives, is our child from now on, and we shall hear of its end.
 */
void exec_shepherd_ended(struct exec *exec, bool is_done)
{
	hear_shepherd(exec);
	exec->tree.shepherd = 0;
	exec->tree.has_strays = exec->kill_again = !is_done;
	if (exec->phase == EXEC_OVER)
		return;
	unwatch(exec, &exec->tree.events);
	if (!exec->reaped && !exec->leader)
		exec_leader_ended(exec, CLD_KILLED, SIGKILL);
	else if (!is_done && exec->phase == EXEC_RUNNING)
		kill_tree(exec);
	else
		check_tree(exec);
}

/*
 * KERNEL: cgroup.events speaks at most once in 10 ms, and since Linux 6.19 a
 * task leaves its cgroup a little after it can be reaped. So a dying tree is
 * looked at again and again. So is output, while there is somebody to be told of it.
 */
uint64_t exec_alarm(const struct exec *exec, bool is_heard)
{
	bool is_restless = exec->phase == EXEC_KILLING || (exec->output_due && is_heard);
	return is_restless ? after(LOOK_AGAIN) : exec->deadline;
}

void exec_tick(struct exec *exec, uint64_t time)
{
	if (exec->phase == EXEC_ENDING || exec->phase == EXEC_KILLING)
		check_tree(exec);
	if (time < exec->deadline)
		return;
	if (exec->phase == EXEC_RUNNING) {
		exec_end(exec, END_TIMED_OUT, SIGTERM, exec->grace);
	} else if (exec->phase == EXEC_ENDING) {
		if (exec->reaped && exec->ended.reason == END_BY_ITSELF)
			exec->ended.leftovers =
				tree_signal(&exec->tree, 0) + tree_strangers(&exec->tree);
		kill_tree(exec);
	} else if (exec->phase == EXEC_KILLING) {
		// Then rather the box: the kernel ends that for us.
		if (tree_is_herd(&exec->tree) && !herd_is_stuck(exec->tree.shepherd))
			_exit(EXIT_FAILURE);
		exec->ended.flags |= ENDED_STUCK | (exec->reaped ? 0 : ENDED_UNREAPED);
		finish(exec);
	}
}

/* KERNEL: an event of the tree is over only when it was read. */
void exec_attend(struct exec *exec, enum exec_source source)
{
	if (exec->phase == EXEC_FREE || exec->phase == EXEC_OVER)
		return;
	if (source == SOURCE_FAILURE)
		hear_of_start(exec);
	else if (source == SOURCE_TREE && tree_is_herd(&exec->tree))
		hear_shepherd(exec);
	else if (source == SOURCE_TREE)
		check_tree(exec);
	else if (exec->terminal)
		attend_terminal(exec, source);
	else if (exec->streams[source].pipe >= 0)
		copy_output(exec, &exec->streams[source], OUTPUT_CHUNK);
}

// --------------------------------------------------------------------- report

/* A word, and what was written since the last one, if it is in memory. */
static bool tell(struct exec *exec, int control, enum message_type type, const void *word,
                 size_t size)
{
	static char body[sizeof(struct ended) + sizeof(struct told) + sizeof kept[0]];
	uint32_t told[2] = {0, 0};
	size_t end = size + sizeof told;
	for (int i = 0; i < 2; i++) {
		const struct stream *stream = &exec->streams[i];
		if (!stream->is_in_memory)
			continue;
		told[i] = stream->size - stream->told;
		memcpy(body + end, kept_output(exec, stream) + stream->told, told[i]);
		end += told[i];
	}
	memcpy(body, word, size);
	memcpy(body + size, told, sizeof told);
	if (!message_send(control, type, exec->id, body, end, -1))
		return false;
	exec->streams[0].told += told[0];
	exec->streams[1].told += told[1];
	return true;
}

static bool report_last(struct exec *exec, int control)
{
	if (exec->refusal.step)
		return message_send(control, MESSAGE_REFUSED, exec->id, &exec->refusal,
		                    sizeof exec->refusal, -1);
	if (exec->look_due &&
	    !contents_tell(&seen[exec->slot], control, MESSAGE_LOOKED, exec->id))
		return false;
	exec->look_due = false;
	return tell(exec, control, MESSAGE_ENDED, &exec->ended, sizeof exec->ended);
}

static bool report_output(struct exec *exec, int control)
{
	uint64_t sizes[] = {exec->streams[0].size, exec->streams[1].size};
	return tell(exec, control, MESSAGE_OUTPUT, sizes, sizeof sizes);
}

static bool report_section(struct exec *exec, int control)
{
	struct section section = {exec->streams[0].size, exec->streams[1].size,
	                          exec->ended.flags & ENDED_TRUNCATED, exec->ended.log_errno,
	                          exec->streams[0].lost, exec->streams[1].lost};
	return tell(exec, control, MESSAGE_SECTION, &section, sizeof section);
}

/*
 * Says what is due, in order. Nothing is queued: what is due is in the exec itself.
 * Of output once in a millisecond: the engine shall not work for every byte.
 */
bool exec_report(struct exec *exec, int control)
{
	uint32_t pids[] = {exec->leader, exec->tree.shepherd};

	if (exec->started_due && exec->phase != EXEC_OVER && !exec->leader)
		return true; // its shepherd has not told us yet
	if (exec->started_due) {
		if (!message_send(control, MESSAGE_STARTED, exec->id, pids, sizeof pids, -1))
			return false;
		exec->started_due = false;
	}
	if (exec->full_due) {
		if (!message_send(control, MESSAGE_FULL, exec->id, NULL, 0, -1))
			return false;
		exec->full_due = false;
	}
	if (exec->phase == EXEC_OVER) {
		if (exec->last_due && !report_last(exec, control))
			return false;
		exec->last_due = exec->output_due = false;
	} else if (exec->section_due) {
		if (!report_section(exec, control))
			return false;
		begin_section(exec);
	} else if (exec->output_due && exec->failure < 0 && exec->told_at != now()) {
		if (!report_output(exec, control))
			return false;
		exec->output_due = false;
		exec->told_at = now();
	}
	return true;
}

void exec_repeat(struct exec *exec)
{
	exec->started_due = exec->is_started;
	exec->output_due = exec->streams[0].size > 0 || exec->streams[1].size > 0;
	exec->last_due = exec->phase == EXEC_OVER;
	exec->full_due = exec->is_full;
	exec->streams[0].told = exec->streams[1].told = 0;
	exec->told_at = 0;
}
