// Pid 1 of a box: one loop over the engine, the children and the execs.
#include <limits.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "inside.h"

#define REAP_AT_ONCE 1024
#define EVENTS_AT_ONCE 64
#define TURNS_BEHIND_MOST 100

// --------------------------------------------------------------------- set-up

static void become_init(int control, int gate)
{
	prctl(PR_SET_DUMPABLE, 0); // commands have our uid
	prctl(PR_SET_NAME, "ebb-init");
	keep_only((int[]){control, gate}, 2);
	silence();
	fcntl(control, F_SETFL, 0); // to wait for the nonce
	fcntl(control, F_SETFD, FD_CLOEXEC);
	if (gate >= 0)
		fcntl(gate, F_SETFD, FD_CLOEXEC);
	umask(022);
	clearenv();
	errno = 0;
	if (!seccomp_build())
		die("build the filter");
}

bool box_watch(struct box *box, int operation, int fd, uint32_t events, uint64_t tag)
{
	struct epoll_event event = {.events = events, .data.u64 = tag};
	return epoll_ctl(box->epoll, operation, fd, &event) == 0;
}

/*
 * KERNEL: the file is shared with the engine, and with a child between fork and exec; close alone
 * would not end the watch.
 */
void box_drop(struct box *box, int *fd)
{
	if (*fd >= 0)
		epoll_ctl(box->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close_fd(fd);
}

// KERNEL: signals from inside that pid 1 neither handles nor blocks are dropped. Blocking
// them all would let the box fill our queue with real-time signals.
static int open_children(void)
{
	sigset_t child;
	reset_signals();
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void open_box(struct box *box, int control)
{
	limit(RLIMIT_NOFILE, RLIM_INFINITY);
	box->control = control;
	box->listener = box->egress = -1;
	box->children = open_children();
	box->epoll = epoll_create1(EPOLL_CLOEXEC);
	box->interest = EPOLLIN | EPOLLRDHUP;
	box->look_at = box->deadline = NEVER;
	for (uint32_t i = 0; i < SLOTS; i++) {
		box->execs[i].epoll = box->epoll;
		box->execs[i].slot = i;
		exec_clear(&box->execs[i]);
	}
	if (!box_watch(box, EPOLL_CTL_ADD, control, box->interest, TAG_CONTROL) ||
	    !box_watch(box, EPOLL_CTL_ADD, box->children, EPOLLIN, TAG_CHILDREN))
		_exit(EXIT_FAILURE);
}

/*
 * The gate opens once the engine knows our pid. ORDER: only then may we leave the session
 * of the outside role, by which a half-made box is found.
 */
static void pass(int gate)
{
	char byte;
	if (gate >= 0 && read(gate, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	setsid();
}

static struct hello *known;

void inside_forget(void)
{
	explicit_bzero(known, sizeof *known);
}

static void greet(struct box *box)
{
	known = &box->hello;
	box->hello.version = PROTOCOL_VERSION;
	if (recv(box->control, box->hello.nonce, NONCE_SIZE, MSG_WAITALL) != NONCE_SIZE ||
	    !box_say_hello(box))
		_exit(EXIT_FAILURE);
}

/* ORDER: after hello, so that when the outside role ends well the engine has been greeted. */
static void dismiss_outside(int gate)
{
	if (gate >= 0)
		(void)!write(gate, "", 1);
	close_fd(&gate);
}

// --------------------------------------------------------------- the children

static void hear_of_end(struct box *box, const siginfo_t *child)
{
	pid_t pid = child->si_pid;
	subreaper_forget(pid);
	each_exec(box, exec) {
		if (exec->phase == EXEC_FREE || exec->phase == EXEC_OVER)
			continue;
		if (exec->leader == pid && !exec->reaped)
			exec_leader_ended(exec, child->si_code, child->si_status);
		else if (exec->tree.subreaper == pid)
			exec_subreaper_ended(exec, child->si_code == CLD_EXITED);
	}
}

/* Leaders and orphans. In rounds: a storm of orphans must not keep us from the engine. */
static void reap(struct box *box)
{
	struct signalfd_siginfo ignored;
	(void)!read(box->children, &ignored, sizeof ignored);
	box->has_zombies = true;
	for (int i = 0; i < REAP_AT_ONCE && box->has_zombies; i++) {
		siginfo_t child = {0};
		box->has_zombies =
			waitid(P_ALL, 0, &child, WEXITED | WNOHANG) == 0 && child.si_pid != 0;
		if (child.si_pid != 0)
			hear_of_end(box, &child);
	}
}

// ------------------------------------------------------------------- the loop

static int time_left(const struct box *box)
{
	uint64_t next = box->look_at < box->deadline ? box->look_at : box->deadline;
	uint64_t time = now();
	bool is_heard = box->control >= 0 && !(box->interest & EPOLLOUT);
	if (box->has_zombies || box->has_caller)
		return 0;
	each_exec(box, exec) {
		uint64_t alarm = exec_alarm(exec, is_heard);
		next = alarm < next ? alarm : next;
	}
	if (next == NEVER)
		return -1;
	uint64_t left = next > time ? next - time : 0;
	return left < INT_MAX ? (int)left : INT_MAX;
}

/*
 * Until when all that happened is known. ORDER: what ended before a deadline
 * ended in time, also when we stood still meanwhile (KERNEL: a wait that was
 * stopped returns no events, signal(7)). A storm of events puts that off, but
 * not for long.
 */
static void hear_until(struct box *box, uint64_t time, int count)
{
	bool is_all = count >= 0 && count < EVENTS_AT_ONCE && !box->has_zombies;
	if (is_all || ++box->turns_behind > TURNS_BEHIND_MOST) {
		box->heard_until = time;
		box->turns_behind = 0;
	}
}

static void tick(struct box *box)
{
	uint64_t time = box->heard_until;
	if (time >= box->deadline)
		_exit(EXIT_SUCCESS);
	each_exec(box, exec)
		exec_tick(exec, time);
	box_check_usage(box);
	box_kill_doomed(box);
}

static void attend(struct box *box, const struct epoll_event *event)
{
	uint64_t tag = event->data.u64;
	if (tag == TAG_CONTROL)
		box_listen(box, event->events);
	else if (tag == TAG_LISTENER)
		box->has_caller = true;
	else if (tag == TAG_CHILDREN)
		box->has_zombies = true;
	else
		exec_attend(&box->execs[tag >> SOURCE_BITS], tag & ((1 << SOURCE_BITS) - 1));
}

int inside(int control, int gate)
{
	static struct box box;

	become_init(control, gate);
	open_box(&box, control);
	pass(gate);
	greet(&box);
	dismiss_outside(gate);
	// ORDER: takes 0.1 ms, in which the engine does what comes next.
	if (!seccomp_restrict_init())
		die("take on the filter");
	for (;;) {
		struct epoll_event events[EVENTS_AT_ONCE];
		uint64_t time = now();
		int count = epoll_wait(box.epoll, events, EVENTS_AT_ONCE, time_left(&box));
		for (int i = 0; i < count; i++)
			attend(&box, &events[i]);
		if (box.has_caller)
			box_answer(&box);
		if (box.has_zombies)
			reap(&box);
		hear_until(&box, time, count);
		tick(&box);
		box_speak(&box);
	}
}
