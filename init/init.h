/*
 * ebb-init: the processes that make a box, be it out of bubblewrap, and those around the daemon.
 *
 *   outside     on the host, as root: stages mounts, starts bwrap in the box's
 *               cgroup, hands the box to the engine, and is gone
 *   forkserver  on the host, as nobody: stays, and clones boxes from what bwrap made once
 *   zygote      a forkserver in an interpreter: a library that this one loads
 *   inside      pid 1 of the box: starts commands, copies their output, ends
 *               their trees, reaps everything, and dies with the engine, or waits for
 *               the next one when it was detached
 *   preflight   before a program: reports if there is too little of anything, or executes it
 *   supervise   around the daemon, as two processes: passes signals on, ends with its
 *               status, and reaps what it left
 *
 * Read main.c; then make/: outside.c and mounts.c; forkserver.c, clone_box.c, zygote_exec.c and
 * zygote.c; then box/: inside.c, requests.c and engine.c; exec.c, exec_start.c, exec_output.c and
 * exec_report.c; terminal.c, start.c, files.c, seccomp.c, tree.c and, for hosts without cgroups,
 * subreaper.c and usage.c; contents.c and egress.c stand apart. host/ has preflight.c, supervise.c and
 * discard.c. lib/ serves all roles. The messages between init and the engine are in protocol.h.
 */
#ifndef EBB_INIT_H
#define EBB_INIT_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#if __has_include(<sys/pidfd.h>)
#include <sys/pidfd.h> // else lib/musl.h has it
#endif

#include "protocol.h"

#define EXEC_MAX 256
#define SLOTS (EXEC_MAX + 1) /* one more, in which a START is refused that gets none */

/* outside.c */
int outside(int argc, char **argv);

/* forkserver.c */
#define UID_INSIDE 1000 /* what a command sees itself as */
#define TEMPLATE_PATIENCE 10 /* s */

int forkserver(int argc, char **argv);
int template(int answer);

/* clone_box.c */
struct title { /* what /proc shows as our command line */
	char *begin;
	size_t size;
};

void take_title(const struct title *title, const char *text);
struct __user_cap_data_struct;

bool set_capabilities(const struct __user_cap_data_struct *data); /* of version 3 */
void clone_box_serve(int control, const struct title *title);

/* zygote_exec.c */
#define ZYGOTE_LIBRARY "/tmp/ebb-zygote.so" /* its runner knows both, see python.py */
#define ZYGOTE_CONTROL 3

noreturn void zygote_exec(int control, int words); /* executes them, as a zygote */

/* mounts.c: files of the host become /tmp/0, /tmp/1 … in a mount namespace of our own */
struct mount_source {
	int fd; /* O_PATH */
	bool is_writable;
};

void mounts_stage(const struct mount_source *sources, size_t count, uid_t uid, gid_t gid);

/* inside.c */
int inside(int control, int gate); /* gate -1: a forkserver made us, and waits for nothing */
void inside_forget(void); /* what a copy of init need not know */

/* contents.c */
struct contents contents_inventory(void); /* all ones: unknown */

struct report { /* an errno, or 0 and entries */
	uint32_t error;
	char entries[REPORT_MAX];
	size_t size;        /* of the entries */
};

bool contents_tell(const struct report *report, int control, enum message_type type, uint32_t exec);
void contents_list(struct report *report); /* of the workspace */
void contents_write_file(const char *name, mode_t mode, const void *data, size_t size,
                         struct report *report); /* a new file there */

/* egress.c */
int egress_listen(uint16_t port); /* on the loopback; -1 with errno */

/* preflight.c */
enum preflight_style { PREFLIGHT_ERROR, PREFLIGHT_DOCTOR, PREFLIGHT_JSON };

struct preflight {
	uint32_t pids;   /* processes and threads, beside us */
	uint32_t files;  /* open at once */
	uint32_t memory; /* MiB */
	enum preflight_style style;
	unsigned told; /* of what there is too little */
};

int preflight(int argc, char **argv);
char **preflight_parse(struct preflight *needed, int argc, char **argv);
bool preflight_passes(struct preflight *needed);

/* discard.c */
int discard(void);

/* supervise.c */
int supervise(int argc, char **argv);

/* wire.c */
struct message {
	struct message_header header;
	unsigned char body[MESSAGE_MAX];
	size_t received; /* of header and body */
	unsigned fd_count;
	int fds[MESSAGE_FDS_MAX];
};

enum receipt { RECEIVED_PART, RECEIVED_ALL, RECEIVED_GARBAGE, RECEIVED_END };

enum receipt message_receive(int socket, struct message *message);
void message_release(struct message *message);
bool message_send(int socket, enum message_type type, uint32_t exec, const void *body, size_t size,
                  int fd); /* false: the socket is full, or closed */

/* subreaper.c: the tree of an exec without a cgroup leaf: all that descends from its subreaper */
struct start;

struct news { /* from a subreaper: first the pid of the leader, then how it ended */
	pid_t leader;
	int32_t code, status; /* 0: not yet */
	uint32_t memory;      /* its peak, KiB */
};

struct usage {
	uint64_t memory;
	uint32_t processes; /* and threads */
};

pid_t subreaper_fork(const struct start *start, int news); /* the subreaper's pid; its reports go to news */
void subreaper_forget(pid_t reaped);
unsigned subreaper_count(void); /* of subreapers */
pid_t subreaper_pid(unsigned i);
uint64_t subreaper_processes(uint64_t most); /* with those that are ours */
unsigned subreaper_signal(pid_t subreaper, int signal); /* 0: those whose subreaper is dead */
bool subreaper_is_empty(pid_t subreaper);
void subreaper_doom(pid_t subreaper);                   /* the same; subreaper_kill is to follow */
bool subreaper_kill(void); /* all the doomed; those too fast for us stay so. False: there is none */
bool subreaper_is_stuck(pid_t subreaper);
void subreaper_look(void);
struct usage subreaper_usage(pid_t subreaper); /* as of the last look */

/* tree.c: all processes of an exec, which the kernel knows as a cgroup leaf, or we as the descendants of a subreaper */
struct tree {
	int events; /* readable: look again */
	int procs;  /* -1: it has no leaf */
	int kill;   /* -1: not to be had; Linux before 5.14 */
	pid_t subreaper;
	bool has_strays; /* the subreaper was killed: its processes are those below no other */
};

bool tree_open(struct tree *tree, int leaf);
bool tree_take(struct tree *tree, const int files[3]);
void tree_close(struct tree *tree);
bool tree_has_leaf(const struct tree *tree);
bool tree_is_empty(const struct tree *tree);
unsigned tree_signal(const struct tree *tree, int signal); /* how many it reached; 0 counts */
unsigned tree_strangers(const struct tree *tree); /* members from outside the box */
bool tree_kill(struct tree *tree); /* false: to be repeated until the tree is empty */

/* terminal.c: from the engine's pipe to the master of a terminal */
#define TYPED_MAX 4096

struct terminal {
	int input;         /* -1: none, or it has ended */
	uint32_t interest; /* in the master */
	bool is_hung_up;   /* no process holds the slave now */
	char last;         /* of what was typed */
	size_t begin, end; /* of what is not typed yet */
	char typed[TYPED_MAX];
};

int terminal_open(const struct start_request *request, int *slave); /* the master, or -1 */
bool terminal_resize(int master, uint16_t rows, uint16_t columns);
void terminal_read(struct terminal *terminal, int master);
void terminal_write(struct terminal *terminal, int master);
uint32_t terminal_interest(const struct terminal *terminal);

/* exec.c: one command, from START to its ENDED message */
enum exec_phase {
	EXEC_FREE,    /* the slot is */
	EXEC_RUNNING, /* deadline: its timeout */
	EXEC_ENDING,  /* asked to end; deadline: the end of its grace */
	EXEC_KILLING, /* killed; deadline: when it counts as stuck */
	EXEC_FILLING, /* all has ended; what is left in its pipes waits for a log */
	EXEC_OVER,    /* holds nothing but its ENDED message */
};

enum exec_source { SOURCE_STDOUT, SOURCE_STDERR, SOURCE_FAILURE, SOURCE_TREE, SOURCE_INPUT };

#define SOURCE_BITS 3

struct stream {
	int pipe; /* from the command, or the master of its terminal */
	int log;  /* -1: none yet, or a write has failed */
	int error; /* why it has */
	bool is_in_memory; /* all that is stored: there is no log yet, or none that takes it */
	uint64_t size; /* of what is stored */
	uint64_t sent; /* of what is in memory */
	uint64_t lost; /* behind it */
};

struct refusal {
	uint32_t step; /* enum start_step; 0: none */
	uint32_t error;
};

struct exec {
	int epoll; /* borrowed from the box */
	uint32_t slot;
	enum exec_phase phase;
	uint32_t id;
	pid_t leader; /* 0: not known yet */
	bool reaped;  /* the leader is */
	bool keep;
	bool kill_again; /* one was not enough */
	int asked;       /* the signal that could not be delivered yet */
	struct tree tree;
	int failure; /* the leader's report of a failed start; exec(2) closes it */
	struct stream streams[2];
	bool is_buffered; /* there are no logs yet, … */
	bool needs_log; /* … and there must be now */
	bool has_segments; /* of output */
	bool lists;        /* the workspace, in the end */
	bool is_to_be_split; /* once there is a log */
	struct terminal *terminal; /* NULL: none */
	uint64_t signals;          /* those that could not be delivered yet, by bit */
	uint64_t limit, room; /* of output */
	uint64_t grace;
	uint64_t deadline;
	uint64_t memory, processes; /* limits that we see to; 0: a cgroup does */
	uint64_t resident;          /* memory, at the last look */
	uint64_t cpu_before;        /* of all that we reaped */
	bool is_started;
	bool is_start_awaited;
	uint64_t started_late; /* STARTED waits for company until then */
	bool started_due, log_due, output_due, segment_due, list_due, last_due; /* not sent to the engine yet */
	uint64_t told_at;                       /* of output, the last time */
	bool is_forgotten;                      /* the engine has written its end down */
	struct refusal refusal;                 /* its ENDED message, if set, … */
	struct ended ended;                     /* … or this */
};

void exec_clear(struct exec *exec);
void exec_start(struct exec *exec, struct message *message);
void exec_rearm(struct exec *exec, const struct start_request *request);
void exec_refuse(struct exec *exec, uint32_t id, enum start_step step, int error);
void exec_attend(struct exec *exec, enum exec_source source);
void exec_end(struct exec *exec, enum end_reason reason, int signal, uint64_t grace);
void exec_signal(struct exec *exec, int signal);
void exec_resize(struct exec *exec, uint16_t rows, uint16_t columns);
void exec_take_logs(struct exec *exec, struct message *message, int error);
void exec_split(struct exec *exec);
void exec_leader_ended(struct exec *exec, int code, int status);
void exec_subreaper_ended(struct exec *exec, bool is_done);
void exec_used(struct exec *exec, struct usage usage);
uint64_t exec_alarm(const struct exec *exec, bool is_heard); /* when it wants its next tick */
void exec_tick(struct exec *exec, uint64_t time);
bool exec_report(struct exec *exec, int control); /* false: the socket is full */
void exec_await_start(struct exec *exec);
bool exec_holds_start(const struct exec *exec); /* nothing else is to be said yet */
void exec_repeat(struct exec *exec); /* nothing was sent to the new engine yet */

/* start.c: what happens between START and exec(2) */
struct start {
	struct start_request request;
	char *workdir; /* strings stay in the message */
	char *strings; /* argv, then the environment */
	int leaf; /* -1: a subreaper instead, or files */
	int files[3]; /* of the leaf: cgroup.procs, cgroup.events, cgroup.kill; -1: none */
	int logs[2], input;
	int outputs[2], failure; /* the child's ends of its pipes */
	int slave; /* -1: no terminal */
	bool is_piped;
};

/* Set by a zygote: lets the interpreter go on, in the child that is to be the first command. */
extern void (*start_resume)(char **environment);

bool start_parse(struct start *start, const struct message *message);
pid_t start_fork(const struct start *start);
noreturn void start_run(const struct start *start);
noreturn void start_refuse(const struct start *start, enum start_step step, int error);

/* files.c: the operations of START_FILE */
noreturn void files_run(uint32_t argc, char **argv);

int files_put(int fd, const char *data, size_t size); /* all of it; or an errno */

struct stat;

size_t files_entry(char *room, size_t size, const struct stat *status, const char *link,
                   const char *name); /* how long it is, whole or not */

/* seccomp.c: what a command may not ask of the kernel */
bool seccomp_build(void);            /* once, before the first is taken on */
bool seccomp_restrict_init(void);    /* and all that it starts from then on */
bool seccomp_restrict_command(void); /* beyond that */

/* process.c */
#define NEVER UINT64_MAX

#define OWN_FAILURE 125 /* how a failed exec(2) ends, as a shell reports it */
#define NOT_EXECUTED 126
#define NOT_FOUND 127

noreturn void become(char **argv);

#define die(...) (complain(__VA_ARGS__), exit(EXIT_FAILURE))

long number(const char *text);
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void reset_signal(int number);
void reset_signals(void);
sigset_t signal_set(uint64_t bits); /* bit 0 is signal 1 */
void block_all_signals(sigset_t *old);
void unblock_signals(void);
bool limit(int resource, uint64_t value);
bool limit_other(pid_t pid, int resource, uint64_t value);
bool drop_privileges(void);
void keep_only(const int *fds, size_t count);
void silence(void);
extern uintptr_t tid_address; /* where libc has the number of its thread; 0: it need not know */
pid_t fork_into(int leaf, int *join_error);
pid_t fork_and_join(int procs, int *join_error);
bool write_at(int directory, const char *name, const char *text);
void close_fd(int *fd);
uint64_t now(void);       /* ms */
uint64_t now_nanos(void); /* the same clock */
uint64_t after(uint64_t milliseconds);
uint64_t cpu_of_the_dead(void); /* us, of all children reaped so far */

#endif
