// Messages on the control socket, as protocol.h has them.
#include <sys/socket.h>
#include <sys/uio.h>

#include "init.h"

union ancillary {
	struct cmsghdr align;
	char space[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
};

static bool take_fds(struct message *message, struct msghdr *part)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(part); c; c = CMSG_NXTHDR(part, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			return false;
		message->fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(message->fds, CMSG_DATA(c), message->fd_count * sizeof(int));
	}
	return !(part->msg_flags & MSG_CTRUNC);
}

static bool is_sane(const struct message *message)
{
	return message->header.size <= MESSAGE_MAX && message->header.zero == 0 &&
	       message->header.fds == message->fd_count;
}

/* The rest of its header, or of its body. */
static enum receipt receive_part(int socket, struct message *message)
{
	const size_t header = sizeof message->header;
	size_t end = message->received < header ? header : header + message->header.size;
	union ancillary ancillary;
	struct iovec bytes = {(char *)message + message->received, end - message->received};
	struct msghdr part = {.msg_iov = &bytes,
	                      .msg_iovlen = 1,
	                      .msg_control = &ancillary,
	                      .msg_controllen = sizeof ancillary};

	ssize_t n = recvmsg(socket, &part, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return RECEIVED_PART;
	if (n <= 0)
		return RECEIVED_END;
	bool may_carry = message->received == 0;
	message->received += n;
	if (part.msg_controllen > 0 && !(may_carry && take_fds(message, &part)))
		return RECEIVED_GARBAGE;
	if (message->received < header)
		return RECEIVED_PART;
	if (!is_sane(message))
		return RECEIVED_GARBAGE;
	return message->received == header + message->header.size ? RECEIVED_ALL : RECEIVED_PART;
}

/*
 * Receives the part of one message that has come, and nothing of the next:
 * descriptors are handed out with the first byte of what they were sent with.
 */
enum receipt message_receive(int socket, struct message *message)
{
	enum receipt receipt = receive_part(socket, message);
	// A body comes with its header.
	if (receipt == RECEIVED_PART && message->received == sizeof message->header)
		receipt = receive_part(socket, message);
	return receipt;
}

/* Closes the descriptors that were not taken, and is ready for the next message. */
void message_release(struct message *message)
{
	for (unsigned i = 0; i < message->fd_count; i++)
		close_fd(&message->fds[i]);
	message->fd_count = 0;
	message->received = 0;
}

static void attach(struct msghdr *part, union ancillary *ancillary, int fd)
{
	part->msg_control = ancillary;
	part->msg_controllen = CMSG_SPACE(sizeof fd);
	struct cmsghdr *c = CMSG_FIRSTHDR(part);
	*c = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
}

bool message_send(int socket, enum message_type type, uint32_t exec, const void *body, size_t size,
                  int fd)
{
	struct message_header header = {.size = size, .type = type, .fds = fd >= 0, .exec = exec};
	struct iovec bytes[] = {{&header, sizeof header}, {(void *)body, size}};
	struct msghdr part = {.msg_iov = bytes, .msg_iovlen = 2};
	union ancillary ancillary = {0};
	if (fd >= 0)
		attach(&part, &ancillary, fd);
	// KERNEL: a unix stream takes less than a page as one buffer, whole or not at all. So no
	// message is ever half sent, and both roles may write to the one socket.
	return sendmsg(socket, &part, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}
