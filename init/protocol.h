/*
 * The words between an engine and ebb-init, pid 1 of a box.
 *
 * One stream socket per box. Every message is a header, then `size` bytes of
 * body; `fds` descriptors travel with the first byte of the header
 * (SCM_RIGHTS). Both ends are on one host: integers are in native order, a
 * body is packed in the order its comment gives, strings end in NUL.
 *
 * The visible pair of this file is dev.ebb.init.Protocol; a test
 * compares the two. Change both, and PROTOCOL_VERSION, together.
 */
#ifndef EBB_PROTOCOL_H
#define EBB_PROTOCOL_H

#include <stdint.h>

#define PROTOCOL_VERSION 13
#define MESSAGE_MAX (4 * 1024 * 1024) /* body; argv and environment of one exec */
#define MESSAGE_FDS_MAX 6
#define NONCE_SIZE 16
#define OUTPUT_BUFFERED_MAX 4096 /* bytes of one stream that need no log */
#define WRITE_FILE_MAX (64 * 1024) /* bytes of a file that init itself writes */
#define STARTED_LATE 10 /* ms */
#define REPORT_MAX 3600 /* bytes of entries in FILE_WRITTEN or LISTED: in a message less than a page */

struct message_header {
	uint32_t size; /* of the body */
	uint16_t type; /* enum message_type */
	uint16_t fds;  /* descriptors that come with it */
	uint32_t exec; /* which exec; 0 = the box itself */
	uint32_t zero;
};

enum message_type {
	/* Box set-up, to the engine. */
	MESSAGE_LAUNCHED = 1, /* from the outside role: u32 host pid of init; fds: its pidfd */
	MESSAGE_HELLO = 2,    /* from init: u32 version, 16 bytes nonce; first on each connection */
	MESSAGE_UNMADE = 3,   /* instead, from the forkserver or its child: why there will be no box, text */

	/* Of the forkserver. */
	MESSAGE_READY = 8,    /* to the engine, also from a zygote: orders can come */
	MESSAGE_TEMPLATE = 9, /* from its bwrap: fds: the mount namespace */

	/* Engine to init. */
	MESSAGE_START = 16, /* struct start_request, then strings: workdir, argv…, environment… ;
	                       fds: [stdout log, stderr log][, cgroup leaf][, stdin or stdout] */
	MESSAGE_KILL = 17,   /* u32 signal, u32 zero, u64 grace in ms: the kill ladder */
	MESSAGE_RESIZE = 18, /* u16 rows, u16 columns: of its terminal */
	MESSAGE_SIGNAL = 19, /* u32 signal, not SIGKILL: once to all of its tree, nothing follows */

	MESSAGE_DETACH = 20, /* u64 ms from now until the box ends, 0: never; fds: a listening socket.
	                        From now on EOF is not the end: init waits there for the next engine,
	                        greets it with the nonce of the first, and tells of every exec it has */
	MESSAGE_FORGET = 21, /* the end of an exec is written down; detached, init keeps it until then */

	MESSAGE_REARM = 22,  /* struct start_request without strings, of the flags START_KEEP and
	                        START_LIST: the limits of an exec that has waited until now begin anew */
	MESSAGE_INVENTORY = 23, /* exec 0: what is in the box? */
	MESSAGE_LOG_FDS = 24, /* the answer to NEED_LOG. u32 0; fds: stdout log, stderr log, empty both. Or
	                         u32 errno, no fds: there are none, and what follows is lost, and counted */
	MESSAGE_LISTEN = 25, /* exec 0, u32 port: listen there on the loopback of the box */
	MESSAGE_SPLIT = 26,  /* of an exec with START_SEGMENTS: ends the segment that it writes */
	MESSAGE_WRITE_FILE = 27, /* exec 0, u32 permissions, string name, then bytes, no more than
	                            WRITE_FILE_MAX: a file that is new in the workspace */
	MESSAGE_LIST = 28,   /* exec 0: which entries has the workspace? */
	MESSAGE_AWAIT_START = 29, /* of an exec: STARTED is wanted at once */

	/* Init to engine, each about one exec. */
	MESSAGE_STARTED = 32, /* u32 pid inside the box, u32 that of its subreaper, 0: none;
	                         the first is 0 if it was killed before it was known. It comes with
	                         what is said next about the exec, but no later than STARTED_LATE, or
	                         at once where that is wanted: most commands end before */
	MESSAGE_REFUSED = 33, /* u32 enum start_step, u32 errno: it never ran */
	MESSAGE_OUTPUT = 34,  /* u64 stdout bytes, u64 stderr bytes so far, struct buffered, its bytes */
	MESSAGE_ENDED = 35,   /* struct ended, struct buffered, its bytes: the last word about an exec */
	MESSAGE_SYNCED = 36,  /* exec 0, u32 id…: on a later connection, all that was due has been
	                         said, of these execs; one that is not among them is none */
	MESSAGE_CONTENTS = 37, /* exec 0, struct contents: the answer to INVENTORY, after all before it is done */
	MESSAGE_NEED_LOG = 38, /* of an exec without logs: it has written more than is buffered, and waits
	                          for LOG_FDS; then all is there, from the first byte on */
	MESSAGE_LISTENING = 39, /* exec 0, the answer to LISTEN: u32 0; fds: the listening socket, which
	                           init keeps, too: it is the same when it is asked for again. Or u32
	                           errno, no fds */
	MESSAGE_SEGMENT = 40, /* struct segment, struct buffered, its bytes: the answer to SPLIT, of all that
	                         was written until then. What is written later is the next segment:
	                         in no log, and with all of the limit */
	MESSAGE_FILE_WRITTEN = 41, /* exec 0, the answer to WRITE_FILE: u32 0, its entry as stat tells it. Or
	                              u32 errno, and nothing is there. Init does it by itself, so only where
	                              that cannot take long: EOPNOTSUPP where the workspace is no tmpfs */
	MESSAGE_LISTED = 42, /* exec 0, the answer to LIST: u32 0, all entries as list tells them, but
	                        for where links lead. Or u32 errno: as above, E2BIG for more than fit
	                        into a message. Of an exec with START_LIST: the same, just before ENDED */
};

#define ORDER_NAME_SIZE 32

/*
 * The engine to the forkserver, without a header: a box to be made. All answers come on the box's own
 * control socket.
 */
struct order {
	uint32_t flags; /* ORDER_… */
	uint32_t uid;   /* of the box, in the user namespace of the forkserver */
	uint64_t disk;  /* bytes of /workspace */
	uint64_t temporary; /* bytes of /tmp, and of /dev/shm */
	uint32_t fds;       /* in this order: init's control socket[, the v2 cgroup it is born in] … */
	uint32_t tasks;     /* … and of these the last: files of v1 by which it joins */
	char name[ORDER_NAME_SIZE]; /* of the box */
};

#define ORDER_HAS_LEAF 1u
#define ORDER_HIDES_CGROUPS 2u
#define ORDER_FDS_MAX 12

#define START_HAS_STDIN 1u /* the last descriptor is the command's stdin */
#define START_KEEP 2u      /* leave daemonised children alive when the command ends */
#define START_HAS_LEAF 4u  /* its cgroup comes with it, a directory; else it gets a subreaper */
#define START_TERMINAL 8u  /* it gets a terminal; stdin is typed there, all output is stdout */
#define START_FILE 16u     /* nothing is executed: argv is one of the operations below */
#define START_BUFFERED 32u /* no logs come with it; no terminal then */
#define START_RESUMED 64u  /* of a zygote's box, the first: nothing is executed, argv is not used;
                              the interpreter that init is a copy of goes on */
#define START_SEGMENTS 128u /* with START_BUFFERED: output comes in segments, which SPLIT ends; what is
                               above the limit is thrown away, and no command ends for it */
#define START_LIST 256u     /* when it has ended the workspace is listed, unless it is stuck */
#define START_PIPED 512u    /* with START_BUFFERED: the last descriptor is the command's stdout, which
                               init neither reads nor counts; no stdin then */
#define START_LEAF_FILES 1024u /* with START_HAS_LEAF: instead of the directory cgroup.procs, to read
                                 and write, cgroup.events and, if there is one, cgroup.kill */

/*
 * A file operation ends with an errno as its exit status.
 *
 *   read PATH OFFSET [MOST]  a regular file, from there on, to stdout; EFBIG if that is more bytes,
 *                            as its size says, holes and all
 *   write PATH MODE          stdin is frames, a u32 size and so many bytes; an empty one ends the
 *                            file. Then it is there as a whole, and its entry is told; else all
 *                            is as it was
 *   stat PATH                an entry: type mode size mtime_ns target name, each ending in NUL
 *   list PATH                an entry for each in the directory, by name
 *   mkdir PATH               and its parents
 *   move FROM TO
 *   remove PATH [recursive]
 */

struct start_request {
	uint64_t timeout_ms;   /* from now; 0 = none. Then the ladder runs with grace_ms */
	uint64_t grace_ms;     /* between SIGTERM and cgroup.kill, for timeout and output limit */
	uint64_t output_limit; /* bytes of stdout and stderr together; above it the exec is ended */
	uint64_t open_files;   /* RLIMIT_NOFILE */
	uint64_t file_size;    /* RLIMIT_FSIZE */
	uint64_t memory;       /* of the box, looked at now and then; 0 = a cgroup sees to it */
	uint64_t data_size;    /* RLIMIT_DATA, of each process; 0 = none */
	uint64_t processes;    /* RLIMIT_NPROC, of the box beside init and subreapers; 0 = none */
	uint32_t flags;        /* START_… */
	uint32_t argc;
	uint32_t envc;
	uint16_t rows;    /* of the terminal, else 0 */
	uint16_t columns; /* the same */
};

/* Where a start failed; errno says why. */
enum start_step {
	STEP_REQUEST = 1, /* the message made no sense, or too many execs */
	STEP_CLONE = 2,   /* no process, or no way into the cgroup leaf */
	STEP_WORKDIR = 3,
	STEP_LIMITS = 4, /* rlimits, seccomp, descriptors */
	STEP_EXEC = 5,
};

/* Why init ended the command; the wait status is the kernel's truth beside it. */
enum end_reason {
	END_BY_ITSELF = 0,
	END_KILLED = 1, /* MESSAGE_KILL */
	END_TIMED_OUT = 2,
	END_OUTPUT_LIMIT = 3,
	END_OUT_OF_MEMORY = 4, /* by our own look at it; a cgroup has its own count */
};

#define ENDED_STUCK 1u     /* members outlived SIGKILL; the leaf is not empty */
#define ENDED_TRUNCATED 2u /* output above the limit was thrown away */
#define ENDED_UNREAPED 4u  /* the command itself is among the stuck: no wait status */
#define ENDED_CROWDED 8u   /* was seen with as many processes as it may have */
#define ENDED_STRANGERS 64u /* processes from outside the box were in its leaf, and were killed */

/*
 * How many bytes follow, which were not sent before: of a stream that is buffered, because there
 * is no log yet, or none that takes it.
 */
struct buffered {
	uint32_t stdout_size;
	uint32_t stderr_size;
};

struct segment {
	uint64_t stdout_size;
	uint64_t stderr_size;
	uint32_t flags;     /* ENDED_TRUNCATED or none */
	uint32_t log_errno; /* as below */
	uint64_t stdout_lost; /* as below */
	uint64_t stderr_lost;
};

struct ended {
	uint32_t reason; /* enum end_reason */
	uint32_t flags;  /* ENDED_… */
	int32_t code;    /* si_code of waitid: CLD_EXITED, CLD_KILLED or CLD_DUMPED */
	int32_t status;  /* exit code, or signal */
	uint64_t stdout_size;
	uint64_t stderr_size;
	uint32_t log_errno; /* why output was lost, or 0: none was */
	uint32_t leftovers; /* members alive when the command ended */
	/* What it was seen to use; a cgroup knows better. */
	uint64_t cpu_us;
	uint64_t peak_memory;
	uint32_t peak_processes;
	uint32_t zero;
	uint64_t ended_ns; /* CLOCK_MONOTONIC when the last of it ended, however late that is told */
	/* Bytes that were written and could not be stored, from the end of what is stored on */
	uint64_t stdout_lost;
	uint64_t stderr_lost;
};

/* What there is in the box. */
struct contents {
	uint32_t processes;   /* as /proc of the box lists them, with init */
	uint32_t descriptors; /* of init */
	uint64_t files;       /* inodes in use on what commands may write to */
	uint64_t blocks;      /* the same, of memory */
};

#endif
