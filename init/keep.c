// Around the daemon: who waits for what it leaves, also where the host's pid 1 never does.
#include <poll.h>
#include <sys/pidfd.h>
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
struct keeper {
	pid_t outer, inner; /* 0: gone */
	int link;           /* from one to the other; its end is the other's end */
	int signals;        /* signalfd, of each its own signals */
	sigset_t mask;      /* as the program gets it */
	pid_t pid;          /* the program's */
	int pidfd;
	int32_t code, status; /* how it ended; 0: not yet */
	bool has_children;
	bool was_inner_killed;
	bool is_dead;      /* the program, as its pidfd says; how it ended the inner one must tell */
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
static void let_go(const struct keeper *keeper)
{
	keep_only((int[]){keeper->link, keeper->signals, keeper->pidfd}, 3);
	silence();
	(void)!chdir("/");
	prctl(PR_SET_NAME, "ebb-keeper");
}

static void note(struct keeper *keeper, const siginfo_t *child)
{
	if (child->si_pid == keeper->inner) {
		keeper->inner = 0;
		keeper->was_inner_killed = child->si_code != CLD_EXITED || child->si_status != 0;
	}
	if (child->si_pid != keeper->pid || keeper->code)
		return;
	keeper->code = child->si_code;
	keeper->status = child->si_status;
	keeper->deadline = after(PATIENCE);
	if (!keeper->inner) { // we are it, or in its place
		struct ended ended = {.code = keeper->code, .status = keeper->status};
		message_send(keeper->link, MESSAGE_ENDED, 0, &ended, sizeof ended, -1);
	}
}

/* ORDER: the status is passed on before it is taken: whoever is killed here, it is not lost. */
static void reap(struct keeper *keeper)
{
	siginfo_t child = {0};
	while (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0) {
		keeper->has_children = true;
		if (child.si_pid == 0)
			return;
		note(keeper, &child);
		waitid(P_PID, child.si_pid, &child, WEXITED | WNOHANG);
		child.si_pid = 0;
	}
	keeper->has_children = false;
}

static bool next_signal(const struct keeper *keeper, struct signalfd_siginfo *signal)
{
	return read(keeper->signals, signal, sizeof *signal) == sizeof *signal;
}

// -------------------------------------------------------------- the program

/* Tells the daemon who its keeper is: on version 2 they go to the same cgroup. */
static void introduce(const struct keeper *keeper)
{
	static char text[64];
	snprintf(text, sizeof text, "EBB_KEEPER=%d %d", keeper->outer, getppid());
	putenv(text);
}

/* ORDER: it runs only once the outer process can signal it; nobody at the gate: never. */
static noreturn void run(struct keeper *keeper, int gate, char **argv)
{
	char byte;
	close_fd(&keeper->link); // or it would be open though the inner process is dead
	if (read(gate, &byte, 1) != 1)
		_exit(OWN_FAILURE);
	introduce(keeper);
	sigprocmask(SIG_SETMASK, &keeper->mask, NULL);
	become(argv);
}

// -------------------------------------------------------- the inner process

static void start(struct keeper *keeper, int gate, char **argv)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	keeper->pid = fork();
	if (keeper->pid == 0)
		run(keeper, gate, argv);
	if (keeper->pid < 0)
		die("fork");
	keeper->pidfd = pidfd_open(keeper->pid, 0);
	if (keeper->pidfd < 0)
		die("open a pidfd of %s", argv[0]);
	uint32_t body = keeper->pid;
	message_send(keeper->link, MESSAGE_LAUNCHED, 0, &body, sizeof body, keeper->pidfd);
	setsid(); // ORDER: after the fork. The program stays in its group; no terminal reaches us
}

/* Whoever killed the outer process meant the program. */
static void hang_up(struct keeper *keeper)
{
	close_fd(&keeper->link);
	pidfd_send_signal(keeper->pidfd, SIGKILL, NULL, 0);
}

static noreturn void inner(struct keeper *keeper, int gate, char **argv)
{
	start(keeper, gate, argv);
	let_go(keeper);
	for (reap(keeper); keeper->has_children; reap(keeper)) {
		struct pollfd fds[] = {{keeper->signals, POLLIN, 0}, {keeper->link, POLLRDHUP, 0}};
		struct signalfd_siginfo ignored;
		poll(fds, 2, -1);
		if (fds[1].revents)
			hang_up(keeper);
		while (next_signal(keeper, &ignored))
			;
	}
	_exit(EXIT_SUCCESS);
}

// -------------------------------------------------------- the outer process

static bool is_stop(int number)
{
	return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* KERNEL: a terminal tells its whole foreground group, where the program is, too. */
static bool is_from_terminal(const struct signalfd_siginfo *signal)
{
	int number = signal->ssi_signo;
	return signal->ssi_code == SI_KERNEL && (is_stop(number) || number == SIGINT ||
	                                         number == SIGQUIT || number == SIGWINCH);
}

/* As the disposition that we were started with says. */
static void suffer(int number)
{
	sigset_t one;
	sigemptyset(&one);
	sigaddset(&one, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
}

/*
 * What is sent to us is meant for the program. To a group by hand (kill -TERM -PGID, systemd's
 * KillMode=mixed) it comes twice, which is once for a daemon that is already going down. The
 * hang-up of a terminal may be told to its session's leader alone, so it is passed on.
 */
static void pass_on(const struct keeper *keeper, const struct signalfd_siginfo *signal)
{
	int number = signal->ssi_signo;
	if (number == SIGCHLD)
		return;
	if (!is_from_terminal(signal))
		pidfd_send_signal(keeper->pidfd, number, NULL, 0);
	if (is_stop(number))
		suffer(number);
}

/* False: the inner process has no more to say. */
static bool hear(struct keeper *keeper)
{
	static struct message message;
	struct ended ended;
	enum receipt receipt = message_receive(keeper->link, &message);
	if (receipt != RECEIVED_ALL)
		return receipt == RECEIVED_PART;
	if (message.header.type == MESSAGE_LAUNCHED) {
		memcpy(&keeper->pid, message.body, sizeof keeper->pid);
		keeper->pidfd = message.fds[0];
		message.fds[0] = -1;
	} else {
		memcpy(&ended, message.body, sizeof ended);
		keeper->code = ended.code;
		keeper->status = ended.status;
		keeper->deadline = after(PATIENCE);
	}
	message_release(&message);
	return true;
}

/* Opens the gate, or has failed. Signals wait until there is somebody to have them. */
static void await_launch(struct keeper *keeper, int gate)
{
	while (keeper->pidfd < 0) {
		poll(&(struct pollfd){keeper->link, POLLIN, 0}, 1, -1);
		if (hear(keeper))
			continue;
		keeper->code = CLD_EXITED; // the inner process has complained, or was killed
		keeper->status = OWN_FAILURE;
		keeper->deadline = after(PATIENCE);
		return;
	}
	(void)!write(gate, "", 1);
}

static int time_left(const struct keeper *keeper)
{
	if (!keeper->code && !keeper->is_dead)
		return -1;
	uint64_t time = now();
	return keeper->deadline > time ? (int)(keeper->deadline - time) : 0;
}

/*
 * If the inner process left by itself nothing of the program is left, and other children are not
 * ours: those of the shell that became us, or, as pid 1 of a container, of anyone. If it was killed
 * we reap in its place, but not for longer than it would have had: a shell waits for us.
 */
static bool is_over(const struct keeper *keeper)
{
	if (!keeper->code || time_left(keeper) == 0)
		return keeper->code;
	return !keeper->inner &&
	       (!keeper->was_inner_killed || !keeper->has_children || getpid() == 1);
}

/*
 * The program is dead and the inner process has not said so: it is stopped, or frozen. Killed, it
 * leaves the program to us. One that outlives even that leaves us without the program's status.
 */
static void urge(struct keeper *keeper)
{
	if (keeper->urged < 2 && keeper->inner)
		kill(keeper->inner, keeper->urged ? SIGKILL : SIGCONT);
	if (keeper->urged++ == 2) {
		keeper->code = CLD_KILLED;
		keeper->status = SIGKILL;
	}
	keeper->deadline = after(PATIENCE);
}

/* Once is enough: the pidfd of a dead program stays readable. */
static bool is_watched(const struct keeper *keeper)
{
	return keeper->inner && !keeper->code && !keeper->is_dead;
}

static void watch_program(struct keeper *keeper, bool has_ended)
{
	if (keeper->code || !(has_ended || (keeper->is_dead && time_left(keeper) == 0)))
		return;
	keeper->is_dead = true;
	urge(keeper);
}

static noreturn void end_like(const struct keeper *keeper)
{
	if (keeper->code == CLD_EXITED)
		_exit(keeper->status);
	prctl(PR_SET_DUMPABLE, 0); // a core is the program's to leave
	signal(keeper->status, SIG_DFL);
	suffer(keeper->status);
	_exit(128 + keeper->status); // pid 1 cannot be killed
}

static noreturn void outer(struct keeper *keeper, int gate)
{
	await_launch(keeper, gate);
	let_go(keeper);
	while (reap(keeper), !is_over(keeper)) {
		struct pollfd fds[] = {{keeper->signals, POLLIN, 0},
		                       {keeper->link, POLLIN, 0},
		                       {is_watched(keeper) ? keeper->pidfd : -1, POLLIN, 0}};
		struct signalfd_siginfo signal;
		poll(fds, 3, time_left(keeper));
		if (fds[1].revents && !hear(keeper))
			close_fd(&keeper->link);
		watch_program(keeper, fds[2].revents);
		while (next_signal(keeper, &signal))
			pass_on(keeper, &signal);
	}
	end_like(keeper);
}

// KERNEL: nobody can wait for children while SIGCHLD is ignored, which survives exec.
static void open_signals(struct keeper *keeper)
{
	sigset_t all;
	signal(SIGCHLD, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &keeper->mask);
	keeper->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (keeper->signals < 0)
		die("open a signalfd");
}

int keep(int argc, char **argv)
{
	struct keeper keeper = {.outer = getpid(), .pidfd = -1, .has_children = true};
	struct room needed = {0};
	int link[2], gate[2];

	char **program = room_parse(&needed, argc, argv);
	errno = EINVAL;
	if (!program[0])
		die("keep nothing");
	occupy_standard_fds();
	if (!room_is_enough(&needed))
		return OWN_FAILURE;
	open_signals(&keeper);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0 ||
	    pipe2(gate, O_CLOEXEC) != 0)
		die("open a pipe");
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	keeper.link = link[pid == 0];
	close(link[pid != 0]);
	close(gate[pid == 0]);
	if (pid == 0)
		inner(&keeper, gate[0], program);
	keeper.inner = pid;
	outer(&keeper, gate[1]);
}
