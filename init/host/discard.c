// The role "discard": takes descriptors to their end that a box made, so that the engine does not have to wait for it.
#include "init.h"

/* The engine closes its copies, then the other end of our stdin: from then on ours are the last. The kernel does not wait
   for SO_LINGER when the process that closes a socket is exiting, see inet_release(); whatever else may take long keeps
   this process alone. */
int discard(void)
{
	char byte;
	ssize_t n;
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	_exit(0);
}
