// Around the daemon: the process that reaps what it leaves, also where the host's pid 1 never does.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "init.h"

#define PATIENCE 1000 /* ms, for all that dies with the program */

/*
 * The outer process (its pid is what a shell or systemd knows) ─▶ the inner one ─▶ the program.
 * What the program leaves falls to the inner one, and if that is killed, to the outer one.
 */
struct supervisor {
	pid_t outer, inner; /* 0: gone */
	int link;           /* from one to the other; its end is the other's end */
	int signals;        /* signalfd, of each its own signals */
	sigset_t mask;      /* as the program gets it */
	pid_t pid;          /* the program's */
	int pidfd;
	int32_t code, status; /* how it ended; 0: not yet */
	bool has_children;
	bool was_inner_killed;
	bool is_dead;      /* the program has ended, as its pidfd shows; the inner process must report how */
	int urged;         /* how often that one was made to */
	uint64_t deadline; /* when what lives on is left alone, or the inner one is urged again */
};

// ------------------------------------------------------------------- both

/* Whatever number we are given for our own, it is none of the standard ones: those may be closed. */
static void occupy_standard_fds(void)
{
	int fd;
	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) <= STDERR_FILENO)
		if (fd < 0)
			die("open /dev/null");
	close(fd);
}

/* Nothing is kept open, busy or waiting for us but what we need. */
static void let_go(const struct supervisor *supervisor)
{
	keep_only((int[]){supervisor->link, supervisor->signals, supervisor->pidfd}, 3);
	silence();
	(void)!chdir("/");
	prctl(PR_SET_NAME, "ebb-supervise");
}

static void note(struct supervisor *supervisor, const siginfo_t *child)
{
	if (child->si_pid == supervisor->inner) {
		supervisor->inner = 0;
		supervisor->was_inner_killed = child->si_code != CLD_EXITED || child->si_status != 0;
	}
	if (child->si_pid != supervisor->pid || supervisor->code)
		return;
	supervisor->code = child->si_code;
	supervisor->status = child->si_status;
	supervisor->deadline = after(PATIENCE);
	if (!supervisor->inner) { // we are it, or in its place
		struct ended ended = {.code = supervisor->code, .status = supervisor->status};
		message_send(supervisor->link, MESSAGE_ENDED, 0, &ended, sizeof ended, -1);
	}
}

/* ORDER: the status is passed on before it is taken: a kill at this point does not lose it. */
static void reap(struct supervisor *supervisor)
{
	siginfo_t child = {0};
	while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0) {
		supervisor->has_children = true;
		if (child.si_pid == 0)
			return;
		note(supervisor, &child);
		waitid(P_PID, child.si_pid, &child, WEXITED | WNOHANG);
		child.si_pid = 0;
	}
	supervisor->has_children = false;
}

static bool next_signal(const struct supervisor *supervisor, struct signalfd_siginfo *signal)
{
	return read(supervisor->signals, signal, sizeof *signal) == sizeof *signal;
}

// -------------------------------------------------------------- the program

/* Passes the supervisor's pid to the daemon: on version 2 both move to the same cgroup. */
static void introduce(const struct supervisor *supervisor)
{
	static char text[64];
	snprintf(text, sizeof text, "EBB_SUPERVISOR=%d %d", supervisor->outer, getppid());
	putenv(text);
}

/* ORDER: it runs only once the outer process can signal it; no peer at the gate: never. */
static noreturn void run(struct supervisor *supervisor, int gate, char **argv)
{
	char byte;
	close_fd(&supervisor->link); // or it would be open though the inner process is dead
	if (read(gate, &byte, 1) != 1)
		_exit(OWN_FAILURE);
	introduce(supervisor);
	sigprocmask(SIG_SETMASK, &supervisor->mask, NULL);
	become(argv);
}

// -------------------------------------------------------- the inner process

static void start(struct supervisor *supervisor, int gate, char **argv)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	supervisor->pid = fork();
	if (supervisor->pid == 0)
		run(supervisor, gate, argv);
	if (supervisor->pid < 0)
		die("fork");
	supervisor->pidfd = pidfd_open(supervisor->pid, 0);
	if (supervisor->pidfd < 0)
		die("open a pidfd of %s", argv[0]);
	uint32_t body = supervisor->pid;
	message_send(supervisor->link, MESSAGE_LAUNCHED, 0, &body, sizeof body, supervisor->pidfd);
	setsid(); // ORDER: after the fork. The program stays in its group; no terminal reaches us
}

/* A signal to the outer process is meant for the program. */
static void hang_up(struct supervisor *supervisor)
{
	close_fd(&supervisor->link);
	pidfd_send_signal(supervisor->pidfd, SIGKILL, NULL, 0);
}

static noreturn void inner(struct supervisor *supervisor, int gate, char **argv)
{
	start(supervisor, gate, argv);
	let_go(supervisor);
	for (reap(supervisor); supervisor->has_children; reap(supervisor)) {
		struct pollfd fds[] = {{supervisor->signals, POLLIN, 0}, {supervisor->link, POLLRDHUP, 0}};
		struct signalfd_siginfo ignored;
		poll(fds, 2, -1);
		if (fds[1].revents)
			hang_up(supervisor);
		while (next_signal(supervisor, &ignored))
			;
	}
	_exit(EXIT_SUCCESS);
}

// -------------------------------------------------------- the outer process

static bool is_stop(int number)
{
	return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* KERNEL: a terminal signals its whole foreground group, which includes the program. */
static bool is_from_terminal(const struct signalfd_siginfo *signal)
{
	int number = signal->ssi_signo;
	return signal->ssi_code == SI_KERNEL && (is_stop(number) || number == SIGINT ||
	                                         number == SIGQUIT || number == SIGWINCH);
}

/* Restores the disposition that we were started with. */
static void suffer(int number)
{
	sigset_t one = signal_set(1ull << (number - 1));
	raise(number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
}

/*
 * A signal to us is meant for the program. To a group by hand (kill -TERM
 * -PGID, systemd's KillMode=mixed) it comes twice, which is once for a daemon
 * that is already going down. The hang-up of a terminal may reach its session's
 * leader alone, so it is passed on.
 */
static void pass_on(const struct supervisor *supervisor, const struct signalfd_siginfo *signal)
{
	int number = signal->ssi_signo;
	if (number == SIGCHLD)
		return;
	if (!is_from_terminal(signal))
		pidfd_send_signal(supervisor->pidfd, number, NULL, 0);
	if (is_stop(number))
		suffer(number);
}

/* Returns false when the inner process has nothing more to report. */
static bool hear(struct supervisor *supervisor)
{
	static struct message message;
	struct ended ended;
	enum receipt receipt = message_receive(supervisor->link, &message);
	if (receipt != RECEIVED_ALL)
		return receipt == RECEIVED_PART;
	if (message.header.type == MESSAGE_LAUNCHED) {
		memcpy(&supervisor->pid, message.body, sizeof supervisor->pid);
		supervisor->pidfd = message.fds[0];
		message.fds[0] = -1;
	} else {
		memcpy(&ended, message.body, sizeof ended);
		supervisor->code = ended.code;
		supervisor->status = ended.status;
		supervisor->deadline = after(PATIENCE);
	}
	message_release(&message);
	return true;
}

/* Opens the gate, or has failed. Signals wait until there is a process to receive them. */
static void await_launch(struct supervisor *supervisor, int gate)
{
	while (supervisor->pidfd < 0) {
		poll(&(struct pollfd){supervisor->link, POLLIN, 0}, 1, -1);
		if (hear(supervisor))
			continue;
		supervisor->code = CLD_EXITED; // the inner process has complained, or was killed
		supervisor->status = OWN_FAILURE;
		supervisor->deadline = after(PATIENCE);
		return;
	}
	(void)!write(gate, "", 1);
}

static int time_left(const struct supervisor *supervisor)
{
	if (!supervisor->code && !supervisor->is_dead)
		return -1;
	uint64_t time = now();
	return supervisor->deadline > time ? (int)(supervisor->deadline - time) : 0;
}

/*
 * If the inner process left by itself nothing of the program is left, and other children are not
 * ours: those of the shell that became us, or, as pid 1 of a container, of anyone. If it was killed
 * we reap in its place, but not for longer than it would have had: a shell waits for us.
 */
static bool is_over(const struct supervisor *supervisor)
{
	if (!supervisor->code || time_left(supervisor) == 0)
		return supervisor->code;
	return !supervisor->inner &&
	       (!supervisor->was_inner_killed || !supervisor->has_children || getpid() == 1);
}

/*
 * The program is dead and the inner process has not reported it: it is stopped,
 * or frozen. When it is killed, we inherit the program. If it survives even
 * that, we end without the program's status.
 */
static void urge(struct supervisor *supervisor)
{
	if (supervisor->urged < 2 && supervisor->inner)
		kill(supervisor->inner, supervisor->urged ? SIGKILL : SIGCONT);
	if (supervisor->urged++ == 2) {
		supervisor->code = CLD_KILLED;
		supervisor->status = SIGKILL;
	}
	supervisor->deadline = after(PATIENCE);
}

/* Once is enough: the pidfd of a dead program stays readable. */
static bool is_watched(const struct supervisor *supervisor)
{
	return supervisor->inner && !supervisor->code && !supervisor->is_dead;
}

static void watch_program(struct supervisor *supervisor, bool has_ended)
{
	if (supervisor->code || !(has_ended || (supervisor->is_dead && time_left(supervisor) == 0)))
		return;
	supervisor->is_dead = true;
	urge(supervisor);
}

static noreturn void end_like(const struct supervisor *supervisor)
{
	if (supervisor->code == CLD_EXITED)
		_exit(supervisor->status);
	prctl(PR_SET_DUMPABLE, 0); // a core is the program's to leave
	reset_signal(supervisor->status);
	suffer(supervisor->status);
	_exit(128 + supervisor->status); // pid 1 cannot be killed
}

static noreturn void outer(struct supervisor *supervisor, int gate)
{
	await_launch(supervisor, gate);
	let_go(supervisor);
	while (reap(supervisor), !is_over(supervisor)) {
		struct pollfd fds[] = {{supervisor->signals, POLLIN, 0},
		                       {supervisor->link, POLLIN, 0},
		                       {is_watched(supervisor) ? supervisor->pidfd : -1, POLLIN, 0}};
		struct signalfd_siginfo signal;
		poll(fds, 3, time_left(supervisor));
		if (fds[1].revents && !hear(supervisor))
			close_fd(&supervisor->link);
		watch_program(supervisor, fds[2].revents);
		while (next_signal(supervisor, &signal))
			pass_on(supervisor, &signal);
	}
	end_like(supervisor);
}

// KERNEL: no process can wait for children while SIGCHLD is ignored, which survives exec.
static void open_signals(struct supervisor *supervisor)
{
	const sigset_t all = signal_set(~0ull);
	reset_signal(SIGCHLD);
	block_all_signals(&supervisor->mask);
	supervisor->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (supervisor->signals < 0)
		die("open a signalfd");
}

int supervise(int argc, char **argv)
{
	struct supervisor supervisor = {.outer = getpid(), .pidfd = -1, .has_children = true};
	struct preflight needed = {0};
	int link[2], gate[2];

	char **program = preflight_parse(&needed, argc, argv);
	errno = EINVAL;
	if (!program[0])
		die("supervise nothing");
	occupy_standard_fds();
	if (!preflight_passes(&needed))
		return OWN_FAILURE;
	open_signals(&supervisor);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0 ||
	    pipe2(gate, O_CLOEXEC) != 0)
		die("open a pipe");
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	supervisor.link = link[pid == 0];
	close(link[pid != 0]);
	close(gate[pid == 0]);
	if (pid == 0)
		inner(&supervisor, gate[0], program);
	supervisor.inner = pid;
	outer(&supervisor, gate[1]);
}
