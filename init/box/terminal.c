// The terminal of a command, from outside: a bounded number of bytes on the way in, and its size.
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "init.h"

/* KERNEL: TIOCGPTPEER gives the slave itself, without a name that could mean another. */
int terminal_open(const struct start_request *request, int *slave)
{
	int unlocked = 0;
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (master < 0)
		return -1;
	if (ioctl(master, TIOCSPTLCK, &unlocked) == 0 &&
	    terminal_resize(master, request->rows, request->columns))
		*slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0)
		close_fd(&master);
	return master;
}

/* KERNEL: the foreground process group of the terminal receives SIGWINCH. */
bool terminal_resize(int master, uint16_t rows, uint16_t columns)
{
	struct winsize size = {.ws_row = rows, .ws_col = columns};
	return ioctl(master, TIOCSWINSZ, &size) == 0;
}

static void type(struct terminal *terminal, char byte)
{
	terminal->typed[terminal->end++] = byte;
}

/* KERNEL: within a line the first VEOF only hands over what there is of it. */
static void type_end(struct terminal *terminal, int master)
{
	struct termios modes;
	if (tcgetattr(master, &modes) != 0 || modes.c_cc[VEOF] == _POSIX_VDISABLE)
		return;
	bool is_in_line = terminal->last && !strchr("\n\r", terminal->last);
	type(terminal, modes.c_cc[VEOF]);
	if (is_in_line && modes.c_lflag & ICANON)
		type(terminal, modes.c_cc[VEOF]);
}

/* Takes some more to type, if all so far is. */
void terminal_read(struct terminal *terminal, int master)
{
	if (terminal->end > 0 || terminal->input < 0)
		return;
	ssize_t n = read(terminal->input, terminal->typed, TYPED_MAX);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		terminal->end = n;
		terminal->last = terminal->typed[n - 1];
		return;
	}
	type_end(terminal, master);
	close_fd(&terminal->input);
}

/* As much as the terminal has room for. */
void terminal_write(struct terminal *terminal, int master)
{
	if (terminal->end == 0)
		return;
	ssize_t n = write(master, terminal->typed + terminal->begin, terminal->end - terminal->begin);
	if (n > 0)
		terminal->begin += n;
	if (terminal->begin == terminal->end)
		terminal->begin = terminal->end = 0;
}

/*
 * KERNEL: a hang-up is reported again and again, except edge-triggered; its
 * slave may be opened again.
 */
uint32_t terminal_interest(const struct terminal *terminal)
{
	return EPOLLIN | (terminal->end > 0 ? EPOLLOUT : 0) | (terminal->is_hung_up ? EPOLLET : 0);
}
