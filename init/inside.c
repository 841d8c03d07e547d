// Pid 1 of a box: one loop over the engine, the children and the execs.
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init.h"

#define EXEC_MAX 256
#define SLOTS (EXEC_MAX + 1) /* one more, in which a START too many is refused */
#define REAP_AT_ONCE 1024
#define GARBAGE 2 /* exit status: the engine broke the protocol */
#define LOOK_EVERY 50 /* ms */
#define SIGNAL_MAX 64

#define TAG_CONTROL (UINT64_MAX - 1)
#define TAG_CHILDREN UINT64_MAX


struct box {
	int control;
	int children; /* signalfd */
	int epoll;
	uint32_t interest; /* in control */
	bool has_zombies;  /* or may have */
	uint64_t look_at;  /* what herds use; NEVER while there is none */
	struct message message;
	struct exec execs[SLOTS];
};

// --------------------------------------------------------------------- set-up

static void become_init(int control, int gate)
{
	prctl(PR_SET_DUMPABLE, 0); // commands have our uid
	prctl(PR_SET_NAME, "ebb-init");
	keep_only((int[]){control, gate}, 2);
	silence();
	fcntl(control, F_SETFL, 0); // to wait for the nonce
	fcntl(control, F_SETFD, FD_CLOEXEC);
	fcntl(gate, F_SETFD, FD_CLOEXEC);
	umask(022);
	clearenv();
}

static bool watch(struct box *box, int operation, int fd, uint32_t events, uint64_t tag)
{
	struct epoll_event event = {.events = events, .data.u64 = tag};
	return epoll_ctl(box->epoll, operation, fd, &event) == 0;
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
	box->children = open_children();
	box->epoll = epoll_create1(EPOLL_CLOEXEC);
	box->interest = EPOLLIN | EPOLLRDHUP;
	box->look_at = NEVER;
	for (uint32_t i = 0; i < SLOTS; i++) {
		box->execs[i].epoll = box->epoll;
		box->execs[i].slot = i;
		exec_clear(&box->execs[i]);
	}
	if (!watch(box, EPOLL_CTL_ADD, control, box->interest, TAG_CONTROL) ||
	    !watch(box, EPOLL_CTL_ADD, box->children, EPOLLIN, TAG_CHILDREN))
		_exit(EXIT_FAILURE);
}

/*
 * The gate opens once the engine was told who we are. ORDER: only then may we leave the session
 * of the outside role, by which a half-made box is found.
 */
static void pass(int gate)
{
	char byte;
	if (read(gate, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	setsid();
}

static void greet(struct box *box)
{
	struct {
		uint32_t version;
		unsigned char nonce[NONCE_SIZE];
	} hello = {.version = PROTOCOL_VERSION};
	if (recv(box->control, hello.nonce, NONCE_SIZE, MSG_WAITALL) != NONCE_SIZE ||
	    !message_send(box->control, MESSAGE_HELLO, 0, &hello, sizeof hello, -1))
		_exit(EXIT_FAILURE);
}

/* ORDER: after hello, so that when the outside role ends well the engine has been greeted. */
static void dismiss_outside(int gate)
{
	(void)!write(gate, "", 1);
	close(gate);
}

// ----------------------------------------------------------------- the engine

static struct exec *find_exec(struct box *box, uint32_t id)
{
	for (struct exec *exec = box->execs; exec < box->execs + SLOTS; exec++)
		if (exec->phase != EXEC_FREE && exec->id == id)
			return exec;
	return NULL;
}

static struct exec *find_slot(struct box *box)
{
	struct exec *exec = box->execs;
	while (exec->phase != EXEC_FREE)
		exec++; // ends: while the last slot is taken nothing is received
	return exec;
}

static void start(struct box *box)
{
	uint32_t id = box->message.header.exec;
	bool is_taken = id == 0 || find_exec(box, id);
	struct exec *exec = find_slot(box);
	if (is_taken)
		exec_refuse(exec, id, STEP_REQUEST, EEXIST);
	else if (exec->slot == EXEC_MAX)
		exec_refuse(exec, id, STEP_REQUEST, EAGAIN);
	else
		exec_start(exec, &box->message);
	if (exec->tree.shepherd)
		box->look_at = now();
}

static bool kill_exec(struct box *box)
{
	struct {
		uint32_t signal, zero;
		uint64_t grace;
	} request;
	if (box->message.header.size != sizeof request || box->message.header.fds != 0)
		return false;
	memcpy(&request, box->message.body, sizeof request);
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec)
		exec_end(exec, END_KILLED, request.signal, request.grace);
	return request.zero == 0;
}

static bool resize_exec(struct box *box)
{
	uint16_t size[2];
	if (box->message.header.size != sizeof size || box->message.header.fds != 0)
		return false;
	memcpy(size, box->message.body, sizeof size);
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec)
		exec_resize(exec, size[0], size[1]);
	return true;
}

static bool signal_exec(struct box *box)
{
	uint32_t signal;
	if (box->message.header.size != sizeof signal || box->message.header.fds != 0)
		return false;
	memcpy(&signal, box->message.body, sizeof signal);
	if (signal < 1 || signal > SIGNAL_MAX || signal == SIGKILL)
		return false;
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec && exec->phase != EXEC_OVER)
		exec_signal(exec, signal);
	return true;
}

static bool obey(struct box *box)
{
	switch (box->message.header.type) {
	case MESSAGE_START:
		start(box);
		return true;
	case MESSAGE_KILL: return kill_exec(box);
	case MESSAGE_RESIZE: return resize_exec(box);
	case MESSAGE_SIGNAL: return signal_exec(box);
	default: return false;
	}
}

static void listen_to_engine(struct box *box, uint32_t events)
{
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		_exit(EXIT_SUCCESS); // the lifeline: the kernel kills the rest of the box
	if (!(events & EPOLLIN))
		return;
	switch (message_receive(box->control, &box->message)) {
	case RECEIVED_PART:
		return;
	case RECEIVED_END:
		_exit(EXIT_SUCCESS);
	case RECEIVED_GARBAGE:
		_exit(GARBAGE);
	case RECEIVED_ALL:
		if (!obey(box))
			_exit(GARBAGE);
		message_release(&box->message);
	}
}

/* Says what is due, as far as the engine reads, and listens while there is room for an answer. */
static void speak_to_engine(struct box *box)
{
	uint32_t interest = EPOLLRDHUP;
	for (struct exec *exec = box->execs; exec < box->execs + SLOTS; exec++)
		if (exec->phase != EXEC_FREE && !exec_report(exec, box->control)) {
			interest |= EPOLLOUT;
			break;
		}
	if (box->execs[EXEC_MAX].phase == EXEC_FREE)
		interest |= EPOLLIN;
	if (interest != box->interest)
		watch(box, EPOLL_CTL_MOD, box->control, interest, TAG_CONTROL);
	box->interest = interest;
}

// --------------------------------------------------------------- the children

static void hear_of_end(struct box *box, const siginfo_t *child)
{
	pid_t pid = child->si_pid;
	herd_forget(pid);
	for (struct exec *exec = box->execs; exec < box->execs + SLOTS; exec++) {
		if (exec->phase == EXEC_FREE || exec->phase == EXEC_OVER)
			continue;
		if (exec->leader == pid && !exec->reaped)
			exec_leader_ended(exec, child->si_code, child->si_status);
		else if (exec->tree.shepherd == pid)
			exec_shepherd_ended(exec, child->si_code == CLD_EXITED);
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

// ---------------------------------------------------------------------- herds

/* When the engine has said all: many kills are one stroke. */
static void kill_herds(struct box *box)
{
	struct pollfd more = {box->control, POLLIN, 0};
	bool is_listening = box->interest & EPOLLIN;
	if ((is_listening && poll(&more, 1, 0) > 0) || !herd_kill())
		return;
	for (struct exec *exec = box->execs; exec < box->execs + SLOTS; exec++)
		if (exec->phase == EXEC_KILLING && exec->tree.shepherd)
			exec_used(exec, herd_usage(exec->tree.shepherd)); // as they were counted for that
}

/* Where no cgroup limits memory we look at it: coarsely, but a box has one limit, as there. */
static void look_at_herds(struct box *box, uint64_t time)
{
	uint64_t all = 0;
	if (time < box->look_at)
		return;
	box->look_at = NEVER;
	if (herd_count() == 0)
		return;
	herd_look();
	for (struct exec *exec = box->execs; exec < box->execs + SLOTS; exec++) {
		if (exec->phase == EXEC_FREE || !exec->tree.shepherd)
			continue;
		struct usage usage = herd_usage(exec->tree.shepherd);
		exec_used(exec, usage);
		all += usage.memory;
		if (exec->memory && all > exec->memory)
			exec_end(exec, END_OUT_OF_MEMORY, SIGKILL, 0);
	}
	// A crowd takes long to look at, and shall not keep us from anything else.
	box->look_at = after(LOOK_EVERY + 10 * (now() - time));
}

// ------------------------------------------------------------------- the loop

static int time_left(const struct box *box)
{
	uint64_t next = box->look_at, time = now();
	if (box->has_zombies)
		return 0;
	for (const struct exec *exec = box->execs; exec < box->execs + SLOTS; exec++) {
		uint64_t alarm = exec_alarm(exec);
		next = alarm < next ? alarm : next;
	}
	if (next == NEVER)
		return -1;
	uint64_t left = next > time ? next - time : 0;
	return left < INT_MAX ? (int)left : INT_MAX;
}

static void tick(struct box *box)
{
	uint64_t time = now();
	for (struct exec *exec = box->execs; exec < box->execs + SLOTS; exec++)
		exec_tick(exec, time);
	look_at_herds(box, time);
	kill_herds(box);
}

static void attend(struct box *box, const struct epoll_event *event)
{
	uint64_t tag = event->data.u64;
	if (tag == TAG_CONTROL)
		listen_to_engine(box, event->events);
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
	for (;;) {
		struct epoll_event events[64];
		int count = epoll_wait(box.epoll, events, 64, time_left(&box));
		for (int i = 0; i < count; i++)
			attend(&box, &events[i]);
		if (box.has_zombies)
			reap(&box);
		tick(&box);
		speak_to_engine(&box);
	}
}
