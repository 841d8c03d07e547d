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

#define REAP_AT_ONCE 1024
#define EVENTS_AT_ONCE 64
#define TURNS_BEHIND_MOST 100
#define GARBAGE 2 /* exit status: the engine broke the protocol */
#define LOOK_EVERY 50 /* ms */
#define SIGNAL_MAX 64

#define TAG_LISTENER (UINT64_MAX - 2)
#define TAG_CONTROL (UINT64_MAX - 1)
#define TAG_CHILDREN UINT64_MAX

struct hello {
	uint32_t version;
	unsigned char nonce[NONCE_SIZE];
};

struct box {
	int control;  /* -1: no engine; we are detached */
	int listener; /* -1: attached */
	int egress;   /* where the engine is the box's proxy; -1: nowhere yet */
	int children; /* signalfd */
	int epoll;
	uint32_t interest;         /* in control */
	bool has_zombies;          /* or may have */
	bool has_caller;           /* the same */
	bool hello_due, known_due; /* what the engine has not heard yet */
	bool count_due, listening_due;
	enum message_type report_due; /* 0: none */
	uint32_t listening_error;
	uint64_t look_at;          /* what herds use; NEVER while there is none */
	uint64_t memory;           /* that they may use together, as we were told last */
	uint64_t deadline;         /* of the box */
	uint64_t heard_until;      /* ms; all that happened before is known */
	unsigned turns_behind;     /* in which that could not be said */
	struct hello hello;
	struct report report;
	struct message message;
	uint32_t in_use; /* of these: no other was taken since it was cleared */
	struct exec execs[SLOTS];
};

#define each_exec(box, exec)                                                                       \
	for (typeof(&(box)->execs[0]) exec = (box)->execs; exec < (box)->execs + (box)->in_use; exec++)

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
	if (gate >= 0 && read(gate, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	setsid();
}

static bool say_hello(const struct box *box)
{
	return message_send(box->control, MESSAGE_HELLO, 0, &box->hello, sizeof box->hello, -1);
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
	    !say_hello(box))
		_exit(EXIT_FAILURE);
}

/* ORDER: after hello, so that when the outside role ends well the engine has been greeted. */
static void dismiss_outside(int gate)
{
	if (gate >= 0)
		(void)!write(gate, "", 1);
	close_fd(&gate);
}

// ----------------------------------------------------------------- the engine

static struct exec *find_exec(struct box *box, uint32_t id)
{
	each_exec(box, exec)
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
	struct exec *exec = is_taken ? &box->execs[EXEC_MAX] : find_slot(box);
	if (exec->slot >= box->in_use)
		box->in_use = exec->slot + 1;
	if (is_taken)
		exec_refuse(exec, id, STEP_REQUEST, EEXIST);
	else if (exec->slot == EXEC_MAX)
		exec_refuse(exec, id, STEP_REQUEST, EAGAIN);
	else
		exec_start(exec, &box->message);
	if (!exec->tree.shepherd)
		return;
	box->memory = exec->memory;
	if (box->look_at == NEVER)
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

static int option(int fd, int name)
{
	int value;
	socklen_t size = sizeof value;
	return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

static bool is_listening(int fd)
{
	return option(fd, SO_DOMAIN) == AF_UNIX && option(fd, SO_TYPE) == SOCK_STREAM &&
	       option(fd, SO_ACCEPTCONN) == 1;
}

/*
 * KERNEL: the file is shared with the engine, and with a child between fork and exec; close alone
 * would not end the watch.
 */
static void drop(struct box *box, int *fd)
{
	if (*fd >= 0)
		epoll_ctl(box->epoll, EPOLL_CTL_DEL, *fd, NULL);
	close_fd(fd);
}

static bool detach(struct box *box)
{
	uint64_t left;
	const struct message_header *header = &box->message.header;
	if (header->size != sizeof left || header->fds != 1 || header->exec != 0)
		return false;
	memcpy(&left, box->message.body, sizeof left);
	int *listener = &box->message.fds[0];
	// KERNEL: by level, a caller whom accept(2) fails to give us would wake us for ever.
	if (!is_listening(*listener) || fcntl(*listener, F_SETFL, O_NONBLOCK) != 0 ||
	    !watch(box, EPOLL_CTL_ADD, *listener, EPOLLIN | EPOLLET, TAG_LISTENER))
		return false;
	drop(box, &box->listener);
	box->listener = *listener;
	*listener = -1; // ours now
	box->deadline = left ? after(left) : NEVER;
	return true;
}

static bool forget_exec(struct box *box)
{
	if (box->message.header.size != 0 || box->message.header.fds != 0)
		return false;
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec && exec->phase == EXEC_OVER)
		exec->is_forgotten = true;
	return true;
}

static bool renew_exec(struct box *box)
{
	struct start_request request;
	if (box->message.header.size != sizeof request || box->message.header.fds != 0)
		return false;
	memcpy(&request, box->message.body, sizeof request);
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec)
		exec_renew(exec, &request);
	return (request.flags & ~(START_KEEP | START_LOOK)) == 0 && request.argc == 0 &&
	       request.envc == 0 && request.rows == 0 && request.columns == 0;
}

static bool count(struct box *box)
{
	const struct message_header *header = &box->message.header;
	box->count_due = true;
	return header->size == 0 && header->fds == 0 && header->exec == 0;
}

static bool look(struct box *box)
{
	const struct message_header *header = &box->message.header;
	contents_look(&box->report);
	box->report_due = MESSAGE_LOOKED;
	return header->size == 0 && header->fds == 0 && header->exec == 0;
}

static bool place(struct box *box)
{
	const struct message_header *header = &box->message.header;
	const char *name = (const char *)box->message.body + sizeof(uint32_t);
	uint32_t mode;
	if (header->size <= sizeof mode || header->fds != 0 || header->exec != 0)
		return false;
	memcpy(&mode, box->message.body, sizeof mode);
	const char *end = memchr(name, '\0', header->size - sizeof mode);
	if (!end || mode > 0777)
		return false;
	size_t size = (const char *)box->message.body + header->size - (end + 1);
	if (size > PLACE_MAX)
		return false;
	contents_place(name, mode, end + 1, size, &box->report);
	box->report_due = MESSAGE_PLACED;
	return true;
}

static bool listen_for_engine(struct box *box)
{
	uint32_t port;
	const struct message_header *header = &box->message.header;
	if (header->size != sizeof port || header->fds != 0 || header->exec != 0)
		return false;
	memcpy(&port, box->message.body, sizeof port);
	if (port == 0 || port > UINT16_MAX)
		return false;
	if (box->egress < 0)
		box->egress = egress_listen(port);
	box->listening_error = box->egress < 0 ? errno : 0;
	box->listening_due = true;
	return true;
}

static bool give_logs(struct box *box)
{
	uint32_t error;
	const struct message_header *header = &box->message.header;
	if (header->size != sizeof error)
		return false;
	memcpy(&error, box->message.body, sizeof error);
	struct exec *exec = find_exec(box, header->exec);
	if (header->fds != (error ? 0 : 2))
		return false;
	if (exec)
		exec_take_logs(exec, &box->message, error);
	return true;
}

static bool cut_exec(struct box *box)
{
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (box->message.header.size != 0 || box->message.header.fds != 0 ||
	    (exec && exec->phase != EXEC_OVER && !exec->has_sections))
		return false;
	if (exec)
		exec_cut(exec);
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
	case MESSAGE_DETACH: return detach(box);
	case MESSAGE_FORGET: return forget_exec(box);
	case MESSAGE_RENEW: return renew_exec(box);
	case MESSAGE_COUNT: return count(box);
	case MESSAGE_LOGS: return give_logs(box);
	case MESSAGE_LISTEN: return listen_for_engine(box);
	case MESSAGE_CUT: return cut_exec(box);
	case MESSAGE_PLACE: return place(box);
	case MESSAGE_LOOK: return look(box);
	default: return false;
	}
}

/* Attached, the lifeline: the kernel kills the rest of the box. */
static void hang_up(struct box *box, int status)
{
	if (box->listener < 0)
		_exit(status);
	message_release(&box->message);
	drop(box, &box->control);
}

/* RACE: an engine may die right after DETACH. Nothing else that it said last counts. */
static void hear_last_words(struct box *box)
{
	enum receipt receipt;
	while ((receipt = message_receive(box->control, &box->message)) <= RECEIVED_ALL) {
		if (receipt == RECEIVED_PART)
			continue;
		if (box->message.header.type == MESSAGE_DETACH)
			detach(box);
		message_release(&box->message);
	}
}

static void listen_to_engine(struct box *box, uint32_t events)
{
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) {
		hear_last_words(box);
		hang_up(box, EXIT_SUCCESS);
		return;
	}
	if (!(events & EPOLLIN))
		return;
	switch (message_receive(box->control, &box->message)) {
	case RECEIVED_PART:
		return;
	case RECEIVED_END:
		hang_up(box, EXIT_SUCCESS);
		return;
	case RECEIVED_GARBAGE:
		hang_up(box, GARBAGE);
		return;
	case RECEIVED_ALL:
		if (obey(box))
			message_release(&box->message);
		else
			hang_up(box, GARBAGE);
	}
}

/* The last caller is the engine. */
static void answer(struct box *box)
{
	int caller = accept4(box->listener, NULL, NULL, SOCK_CLOEXEC);
	box->has_caller = caller >= 0;
	if (caller < 0)
		return;
	hang_up(box, EXIT_SUCCESS);
	box->interest = EPOLLIN | EPOLLRDHUP;
	if (!watch(box, EPOLL_CTL_ADD, caller, box->interest, TAG_CONTROL)) {
		close(caller);
		return;
	}
	box->control = caller;
	box->hello_due = box->known_due = true;
	box->count_due = box->listening_due = false;
	box->report_due = 0;
	each_exec(box, exec)
		exec_repeat(exec);
}

static bool say_known(struct box *box)
{
	uint32_t ids[SLOTS], count = 0;
	each_exec(box, exec)
		if (exec->phase != EXEC_FREE && exec->slot != EXEC_MAX)
			ids[count++] = exec->id;
	return message_send(box->control, MESSAGE_KNOWN, 0, ids, count * sizeof *ids, -1);
}

static bool say_counted(struct box *box)
{
	struct contents contents = contents_count();
	return message_send(box->control, MESSAGE_COUNTED, 0, &contents, sizeof contents, -1);
}

static bool say_listening(const struct box *box)
{
	return message_send(box->control, MESSAGE_LISTENING, 0, &box->listening_error,
	                    sizeof box->listening_error, box->egress);
}

/* False: the socket is full. */
static bool report(struct box *box)
{
	if (box->hello_due && !say_hello(box))
		return false;
	box->hello_due = false;
	each_exec(box, exec)
		if (exec->phase != EXEC_FREE && !exec_report(exec, box->control))
			return false;
	if (box->known_due && !say_known(box))
		return false;
	box->known_due = false;
	if (box->count_due && !say_counted(box))
		return false;
	box->count_due = false;
	if (box->listening_due && !say_listening(box))
		return false;
	box->listening_due = false;
	if (box->report_due && !contents_tell(&box->report, box->control, box->report_due, 0))
		return false;
	box->report_due = 0;
	return true;
}

/* Detached, an end is kept until it is written down; a START that got no slot never was an exec. */
static void clear_execs(struct box *box)
{
	each_exec(box, exec) {
		bool is_kept = box->listener >= 0 && exec->slot != EXEC_MAX && !exec->is_forgotten;
		if (exec->phase == EXEC_OVER && !exec->last_due && !is_kept)
			exec_clear(exec);
	}
	while (box->in_use > 0 && box->execs[box->in_use - 1].phase == EXEC_FREE)
		box->in_use--;
}

/* Says what is due, as far as the engine reads, and listens while there is room for an answer. */
static void speak_to_engine(struct box *box)
{
	if (box->control < 0)
		return;
	uint32_t interest = EPOLLRDHUP;
	if (!report(box))
		interest |= EPOLLOUT;
	clear_execs(box);
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
	each_exec(box, exec) {
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
	each_exec(box, exec)
		if (exec->phase == EXEC_KILLING && exec->tree.shepherd)
			exec_used(exec, herd_usage(exec->tree.shepherd)); // as they were counted for that
}

static bool is_waited_for(const struct box *box, pid_t shepherd)
{
	each_exec(box, exec)
		if (exec->tree.shepherd == shepherd && exec->phase != EXEC_OVER)
			return true;
	return false;
}

/* What commands were allowed to leave is the first to go, where all together use too much. */
static void look_at_kept(const struct box *box, uint64_t all)
{
	for (unsigned i = 0; box->memory && i < herd_count(); i++) {
		pid_t shepherd = herd_shepherd(i);
		if (is_waited_for(box, shepherd))
			continue;
		all += herd_usage(shepherd).memory;
		if (all > box->memory)
			herd_doom(shepherd);
	}
}

/* Where no cgroup limits memory we look at it: coarsely, but a box has one limit, as there. */
static void look_at_herds(struct box *box)
{
	uint64_t all = 0;
	uint64_t time = now();
	if (time < box->look_at)
		return;
	box->look_at = NEVER;
	if (herd_count() == 0)
		return;
	herd_look();
	each_exec(box, exec) {
		if (exec->phase == EXEC_FREE || exec->phase == EXEC_OVER || !exec->tree.shepherd)
			continue;
		struct usage usage = herd_usage(exec->tree.shepherd);
		exec_used(exec, usage);
		all += usage.memory;
		if (exec->memory && all > exec->memory) {
			exec_end(exec, END_OUT_OF_MEMORY, SIGKILL, 0);
			all -= usage.memory; // it goes, and takes nobody along
		}
	}
	look_at_kept(box, all);
	// A crowd takes long to look at, and shall not keep us from anything else.
	box->look_at = after(LOOK_EVERY + 10 * (now() - time));
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
 * Until when all that happened is known. ORDER: what ended before a deadline ended in time, also
 * when we stood still meanwhile (KERNEL: a wait that was stopped tells no events, signal(7)). A
 * storm of events puts that off, but not for long.
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
	look_at_herds(box);
	kill_herds(box);
}

static void attend(struct box *box, const struct epoll_event *event)
{
	uint64_t tag = event->data.u64;
	if (tag == TAG_CONTROL)
		listen_to_engine(box, event->events);
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
			answer(&box);
		if (box.has_zombies)
			reap(&box);
		hear_until(&box, time, count);
		tick(&box);
		speak_to_engine(&box);
	}
}
