/* Init's one box, and what the parts of inside.c do with it. */
#ifndef EBB_INSIDE_H
#define EBB_INSIDE_H

#include "init.h"

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
	bool hello_due, synced_due; /* not sent to the engine yet */
	bool inventory_due, listening_due;
	enum message_type report_due; /* 0: none */
	uint32_t listening_error;
	uint64_t look_at;          /* what trees without a leaf use; NEVER while there is none */
	uint64_t memory;           /* that they may use together, by the engine's last message */
	uint64_t deadline;         /* of the box */
	uint64_t heard_until;      /* ms; all that happened before is known */
	unsigned turns_behind;     /* in which that could not be sent */
	struct hello hello;
	struct report report;
	struct message message;
	uint32_t in_use; /* of these: no other was taken since it was cleared */
	struct exec execs[SLOTS];
};

#define each_exec(box, exec)                                                                       \
	for (typeof(&(box)->execs[0]) exec = (box)->execs; exec < (box)->execs + (box)->in_use; exec++)

/* inside.c */
bool box_watch(struct box *box, int operation, int fd, uint32_t events, uint64_t tag);
void box_drop(struct box *box, int *fd); /* ends the watch, and closes it */

/* requests.c */
bool box_obey(struct box *box); /* the message that has come; false: it makes no sense */
bool box_detach(struct box *box);

/* engine.c */
void box_listen(struct box *box, uint32_t events); /* to the engine */
void box_answer(struct box *box);                  /* the next engine */
void box_speak(struct box *box);                   /* sends what is due */
bool box_say_hello(const struct box *box);

/* usage.c */
void box_check_usage(struct box *box);
void box_kill_doomed(struct box *box);

#endif
