// One command as pid 1 sees it: what it holds, and the end of its whole tree.
#include <sys/epoll.h>
#include <sys/wait.h>

#include "exec.h"

#define STUCK_AFTER 5000 /* ms since SIGKILL */
#define SETTLED_AFTER 20 /* ms, for a subreaper to see that all have ended */
#define LOOK_AGAIN 1     /* ms */

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

bool exec_control(struct exec *exec, int operation, int fd, enum exec_source source,
                  uint32_t events)
{
	struct epoll_event event = {.events = events,
	                            .data.u64 = (uint64_t)exec->slot << SOURCE_BITS | source};
	return epoll_ctl(exec->epoll, operation, fd, &event) == 0;
}

bool exec_watch(struct exec *exec, int fd, enum exec_source source)
{
	bool is_leaf = source == SOURCE_TREE && tree_has_leaf(&exec->tree);
	return exec_control(exec, EPOLL_CTL_ADD, fd, source, is_leaf ? EPOLLPRI : EPOLLIN);
}

// KERNEL: a child between fork and exec shares the file; close alone would not end the watch.
void exec_unwatch(struct exec *exec, int *fd)
{
	if (*fd >= 0)
		epoll_ctl(exec->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close_fd(fd);
}

void exec_release(struct exec *exec)
{
	if (exec->terminal)
		exec_unwatch(exec, &exec->terminal->input);
	free(exec->terminal);
	exec->terminal = NULL;
	for (int i = 0; i < 2; i++) {
		exec_unwatch(exec, &exec->streams[i].pipe);
		close_fd(&exec->streams[i].log);
	}
	exec_unwatch(exec, &exec->failure);
	exec_unwatch(exec, &exec->tree.events);
	tree_close(&exec->tree);
	exec->deadline = NEVER;
	exec->phase = EXEC_OVER;
	exec->last_due = true;
}

// ------------------------------------------------------------------------ end

/* RACE: where it joins its leaf by itself it may not be there yet, and cgroup.kill does not wait. */
static void signal_leader(const struct exec *exec, int signal)
{
	if (tree_has_leaf(&exec->tree) && !exec->reaped)
		kill(exec->leader, signal);
}

static void kill_tree(struct exec *exec)
{
	exec->phase = EXEC_KILLING;
	exec->deadline = after(STUCK_AFTER);
	if (exec->tree.subreaper && !exec->leader)
		kill(exec->tree.subreaper, SIGKILL); // it may not have begun
	signal_leader(exec, SIGKILL);
	if (tree_strangers(&exec->tree) > 0)
		exec->ended.flags |= ENDED_STRANGERS;
	exec->kill_again = !tree_kill(&exec->tree);
}

/* Not before there is a process to receive it: a subreaper reports when it has a leader. */
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
	exec_pass_signals(exec);
}

/* The ladder: a signal, the grace, SIGKILL. The first caller to climb it gives the reason. */
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

void exec_finish(struct exec *exec)
{
	exec_hear_start(exec);
	if (exec->failure >= 0)
		exec->is_started = exec->started_due = true; // stuck before exec(2) was done
	if (exec->phase != EXEC_FILLING)
		exec->ended.ended_ns = now_nanos();
	exec->phase = EXEC_FILLING;
	exec->deadline = NEVER;
	exec->segment_due = false;
	exec_drain(exec);
	if (exec->needs_log)
		return; // the rest comes when there is a log
	// Writes the output as if the log had been there when the command ended, however late it came.
	if (exec->ended.flags & ENDED_TRUNCATED && !exec->has_segments &&
	    exec->ended.reason == END_BY_ITSELF)
		exec->ended.reason = END_OUTPUT_LIMIT;
	exec->ended.stdout_size = exec->streams[0].size;
	exec->ended.stderr_size = exec->streams[1].size;
	exec->ended.stdout_lost = exec->streams[0].lost;
	exec->ended.stderr_lost = exec->streams[1].lost;
	exec->ended.cpu_us = cpu_of_the_dead() - exec->cpu_before;
	if (exec->lists && !(exec->ended.flags & ENDED_STUCK))
		exec_list(exec);
	exec_release(exec);
}

/*
 * No member was seen, so the subreaper is about to end. RACE: unless one daemonised itself behind
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
	if (exec->segment_due)
		exec_heed_pipes(exec, EPOLLIN);
	exec->segment_due = false; // its ENDED message reports it
	// RACE: what it wrote came before its death, whichever we notice first. So a command
	// that crossed the output limit always ends for that reason.
	exec_drain(exec);
	bool is_empty = tree_is_empty(&exec->tree);
	exec->ended.leftovers =
		is_empty ? 0 : tree_signal(&exec->tree, 0) + tree_strangers(&exec->tree);
	exec_used(exec, (struct usage){0, 1 + exec->ended.leftovers});
	if (is_empty || (exec->keep && exec->phase == EXEC_RUNNING))
		exec_finish(exec);
	else if (exec->phase == EXEC_RUNNING && exec->tree.subreaper && !exec->ended.leftovers)
		settle(exec);
	else if (exec->phase == EXEC_RUNNING)
		kill_tree(exec);
}

/* RACE: a subreaper that is killed with its tree may yet reap the leader without a report. */
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
	if (is_empty && !exec->reaped && !tree_has_leaf(&exec->tree))
		miss_leader(exec);
	if (is_empty && exec->reaped)
		exec_finish(exec);
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

static void read_news(struct exec *exec)
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
	exec_pass_signals(exec);
}

/*
 * A command killed this subreaper. The processes it kept have no owner now, and
 * end. Its leader, if it lives, is our child from now on, and we receive its
 * end.
 */
void exec_subreaper_ended(struct exec *exec, bool is_done)
{
	read_news(exec);
	exec->tree.subreaper = 0;
	exec->tree.has_strays = exec->kill_again = !is_done;
	if (exec->phase == EXEC_OVER)
		return;
	exec_unwatch(exec, &exec->tree.events);
	if (!exec->reaped && !exec->leader)
		exec_leader_ended(exec, CLD_KILLED, SIGKILL);
	else if (!is_done && exec->phase == EXEC_RUNNING)
		kill_tree(exec);
	else
		check_tree(exec);
}

// --------------------------------------------------------------------- events

/*
 * KERNEL: cgroup.events speaks at most once in 10 ms, and since Linux 6.19 a
 * task leaves its cgroup a little after it can be reaped. So a dying tree is
 * looked at again and again. So is output, while the engine is connected.
 */
uint64_t exec_alarm(const struct exec *exec, bool is_heard)
{
	bool is_restless = exec->phase == EXEC_KILLING || (exec->output_due && is_heard);
	if (is_restless)
		return after(LOOK_AGAIN);
	return exec_holds_start(exec) && exec->started_late < exec->deadline ? exec->started_late
	                                                                     : exec->deadline;
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
		if (!tree_has_leaf(&exec->tree) && !subreaper_is_stuck(exec->tree.subreaper))
			_exit(EXIT_FAILURE);
		exec->ended.flags |= ENDED_STUCK | (exec->reaped ? 0 : ENDED_UNREAPED);
		exec_finish(exec);
	}
}

/* KERNEL: an event of the tree is over only when it was read. */
void exec_attend(struct exec *exec, enum exec_source source)
{
	if (exec->phase == EXEC_FREE || exec->phase == EXEC_OVER)
		return;
	if (source == SOURCE_FAILURE)
		exec_hear_start(exec);
	else if (source == SOURCE_TREE && !tree_has_leaf(&exec->tree))
		read_news(exec);
	else if (source == SOURCE_TREE)
		check_tree(exec);
	else
		exec_attend_output(exec, source);
}
