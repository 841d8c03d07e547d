// The one way out of a box: a socket in its network namespace, on which the engine accepts.
#include <netinet/in.h>
#include <sys/socket.h>

#include "init.h"

#define BACKLOG 128

int egress_listen(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_port = htons(port),
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	                listen(fd, BACKLOG) != 0))
		close_fd(&fd);
	return fd;
}
