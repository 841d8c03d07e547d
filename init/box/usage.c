// Where there are no cgroups: what the trees below subreapers use, and the end of those that use too much.
#include <poll.h>
#include <sys/epoll.h>

#include "inside.h"

#define LOOK_EVERY 50 /* ms */

/* Runs when the engine has sent all: many kills are then done at once. */
void box_kill_doomed(struct box *box)
{
	struct pollfd more = {box->control, POLLIN, 0};
	bool is_listening = box->interest & EPOLLIN;
	if ((is_listening && poll(&more, 1, 0) > 0) || !subreaper_kill())
		return;
	each_exec(box, exec)
		if (exec->phase == EXEC_KILLING && exec->tree.subreaper)
			exec_used(exec, subreaper_usage(exec->tree.subreaper)); // as they were counted for that
}

static bool is_waited_for(const struct box *box, pid_t subreaper)
{
	each_exec(box, exec)
		if (exec->tree.subreaper == subreaper && exec->phase != EXEC_OVER)
			return true;
	return false;
}

/*
 * Processes that commands were allowed to leave are the first to be killed when
 * all together use too much.
 */
static void look_at_kept(const struct box *box, uint64_t all)
{
	for (unsigned i = 0; box->memory && i < subreaper_count(); i++) {
		pid_t subreaper = subreaper_pid(i);
		if (is_waited_for(box, subreaper))
			continue;
		all += subreaper_usage(subreaper).memory;
		if (all > box->memory)
			subreaper_doom(subreaper);
	}
}

/* The largest of the commands whose limit all of them together exceed. */
static struct exec *find_largest(struct box *box, uint64_t all)
{
	struct exec *largest = NULL;
	each_exec(box, exec)
		if (exec->resident && exec->memory && all > exec->memory &&
		    (!largest || exec->resident > largest->resident))
			largest = exec;
	return largest;
}

/* Memory of the commands together. The largest ends while that is too much, as with a cgroup. */
static uint64_t look_at_commands(struct box *box)
{
	uint64_t all = 0;
	each_exec(box, exec) {
		exec->resident = 0;
		if (exec->phase == EXEC_FREE || exec->phase == EXEC_OVER || !exec->tree.subreaper)
			continue;
		struct usage usage = subreaper_usage(exec->tree.subreaper);
		exec_used(exec, usage);
		if (exec->phase != EXEC_KILLING) // then it gives back what it has
			all += exec->resident = usage.memory;
	}
	for (struct exec *largest; (largest = find_largest(box, all)); largest->resident = 0) {
		exec_end(largest, END_OUT_OF_MEMORY, SIGKILL, 0);
		all -= largest->resident;
	}
	return all;
}

/* Where no cgroup limits memory we look at it: coarsely, but a box has one limit, as there. */
void box_check_usage(struct box *box)
{
	uint64_t time = now();
	if (time < box->look_at)
		return;
	box->look_at = NEVER;
	if (subreaper_count() == 0)
		return;
	subreaper_look();
	uint64_t all = look_at_commands(box);
	look_at_kept(box, all);
	// Looking at many processes takes long, and must not keep init from anything else.
	box->look_at = after(LOOK_EVERY + 10 * (now() - time));
}
