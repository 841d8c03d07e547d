// The engine at the other end of the control socket: reads its messages, answers them, loses it,
// and finds the next one.
#include <sys/epoll.h>
#include <sys/socket.h>

#include "inside.h"

#define GARBAGE 2 /* exit status: the engine broke the protocol */

/* Attached, the lifeline: the kernel kills the rest of the box. */
static void hang_up(struct box *box, int status)
{
	if (box->listener < 0)
		_exit(status);
	message_release(&box->message);
	box_drop(box, &box->control);
}

/* RACE: an engine may die right after DETACH. No other message that it sent last counts. */
static void hear_last_words(struct box *box)
{
	enum receipt receipt;
	while ((receipt = message_receive(box->control, &box->message)) <= RECEIVED_ALL) {
		if (receipt == RECEIVED_PART)
			continue;
		if (box->message.header.type == MESSAGE_DETACH)
			box_detach(box);
		message_release(&box->message);
	}
}

void box_listen(struct box *box, uint32_t events)
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
		if (box_obey(box))
			message_release(&box->message);
		else
			hang_up(box, GARBAGE);
	}
}

/* The last caller is the engine. */
void box_answer(struct box *box)
{
	int caller = accept4(box->listener, NULL, NULL, SOCK_CLOEXEC);
	box->has_caller = caller >= 0;
	if (caller < 0)
		return;
	hang_up(box, EXIT_SUCCESS);
	box->interest = EPOLLIN | EPOLLRDHUP;
	if (!box_watch(box, EPOLL_CTL_ADD, caller, box->interest, TAG_CONTROL)) {
		close(caller);
		return;
	}
	box->control = caller;
	box->hello_due = box->synced_due = true;
	box->inventory_due = box->listening_due = false;
	box->report_due = 0;
	each_exec(box, exec)
		exec_repeat(exec);
}

// ---------------------------------------------------------- what is due to it

bool box_say_hello(const struct box *box)
{
	return message_send(box->control, MESSAGE_HELLO, 0, &box->hello, sizeof box->hello, -1);
}

static bool say_synced(struct box *box)
{
	uint32_t ids[SLOTS], count = 0;
	each_exec(box, exec)
		if (exec->phase != EXEC_FREE && exec->slot != EXEC_MAX)
			ids[count++] = exec->id;
	return message_send(box->control, MESSAGE_SYNCED, 0, ids, count * sizeof *ids, -1);
}

static bool say_contents(struct box *box)
{
	struct contents contents = contents_inventory();
	return message_send(box->control, MESSAGE_CONTENTS, 0, &contents, sizeof contents, -1);
}

static bool say_listening(const struct box *box)
{
	return message_send(box->control, MESSAGE_LISTENING, 0, &box->listening_error,
	                    sizeof box->listening_error, box->egress);
}

/* False: the socket is full. */
static bool report(struct box *box)
{
	if (box->hello_due && !box_say_hello(box))
		return false;
	box->hello_due = false;
	each_exec(box, exec)
		if (exec->phase != EXEC_FREE && !exec_report(exec, box->control))
			return false;
	if (box->synced_due && !say_synced(box))
		return false;
	box->synced_due = false;
	if (box->inventory_due && !say_contents(box))
		return false;
	box->inventory_due = false;
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

/* Sends what is due, as far as the engine reads, and receives while there is room for an answer. */
void box_speak(struct box *box)
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
		box_watch(box, EPOLL_CTL_MOD, box->control, interest, TAG_CONTROL);
	box->interest = interest;
}
