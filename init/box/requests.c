// The requests of the engine to init; each message is checked before it is obeyed.
#include <sys/epoll.h>
#include <sys/socket.h>

#include "inside.h"

#define SIGNAL_MAX 64

// ---------------------------------------------------------------------- execs

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
	if (!exec->tree.subreaper)
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

static bool forget_exec(struct box *box)
{
	if (box->message.header.size != 0 || box->message.header.fds != 0)
		return false;
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec && exec->phase == EXEC_OVER)
		exec->is_forgotten = true;
	return true;
}

static bool rearm_exec(struct box *box)
{
	struct start_request request;
	if (box->message.header.size != sizeof request || box->message.header.fds != 0)
		return false;
	memcpy(&request, box->message.body, sizeof request);
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec)
		exec_rearm(exec, &request);
	return (request.flags & ~(START_KEEP | START_LIST)) == 0 && request.argc == 0 &&
	       request.envc == 0 && request.rows == 0 && request.columns == 0;
}

static bool await_start(struct box *box)
{
	if (box->message.header.size != 0 || box->message.header.fds != 0)
		return false;
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (exec)
		exec_await_start(exec);
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

static bool split_exec(struct box *box)
{
	struct exec *exec = find_exec(box, box->message.header.exec);
	if (box->message.header.size != 0 || box->message.header.fds != 0 ||
	    (exec && exec->phase != EXEC_OVER && !exec->has_segments))
		return false;
	if (exec)
		exec_split(exec);
	return true;
}

// -------------------------------------------------------------------- the box

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

bool box_detach(struct box *box)
{
	uint64_t left;
	const struct message_header *header = &box->message.header;
	if (header->size != sizeof left || header->fds != 1 || header->exec != 0)
		return false;
	memcpy(&left, box->message.body, sizeof left);
	int *listener = &box->message.fds[0];
	// KERNEL: by level, a caller whom accept(2) fails to give us would wake us for ever.
	if (!is_listening(*listener) || fcntl(*listener, F_SETFL, O_NONBLOCK) != 0 ||
	    !box_watch(box, EPOLL_CTL_ADD, *listener, EPOLLIN | EPOLLET, TAG_LISTENER))
		return false;
	box_drop(box, &box->listener);
	box->listener = *listener;
	*listener = -1; // ours now
	box->deadline = left ? after(left) : NEVER;
	return true;
}

static bool inventory(struct box *box)
{
	const struct message_header *header = &box->message.header;
	box->inventory_due = true;
	return header->size == 0 && header->fds == 0 && header->exec == 0;
}

static bool list(struct box *box)
{
	const struct message_header *header = &box->message.header;
	contents_list(&box->report);
	box->report_due = MESSAGE_LISTED;
	return header->size == 0 && header->fds == 0 && header->exec == 0;
}

static bool write_file(struct box *box)
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
	if (size > WRITE_FILE_MAX)
		return false;
	contents_write_file(name, mode, end + 1, size, &box->report);
	box->report_due = MESSAGE_FILE_WRITTEN;
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

// ------------------------------------------------------------------------ all

bool box_obey(struct box *box)
{
	switch (box->message.header.type) {
	case MESSAGE_START:
		start(box);
		return true;
	case MESSAGE_KILL: return kill_exec(box);
	case MESSAGE_RESIZE: return resize_exec(box);
	case MESSAGE_SIGNAL: return signal_exec(box);
	case MESSAGE_DETACH: return box_detach(box);
	case MESSAGE_FORGET: return forget_exec(box);
	case MESSAGE_REARM: return rearm_exec(box);
	case MESSAGE_INVENTORY: return inventory(box);
	case MESSAGE_LOG_FDS: return give_logs(box);
	case MESSAGE_LISTEN: return listen_for_engine(box);
	case MESSAGE_SPLIT: return split_exec(box);
	case MESSAGE_WRITE_FILE: return write_file(box);
	case MESSAGE_LIST: return list(box);
	case MESSAGE_AWAIT_START: return await_start(box);
	default: return false;
	}
}
