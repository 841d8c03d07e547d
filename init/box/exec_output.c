// What a command writes: to its logs, or to memory while it has none.
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "exec.h"

#define OUTPUT_CHUNK (64 * 1024)

// The beginning of each stream: there may be no log yet, or one that takes nothing because its disk
// is full. Beside the execs, so that looking at all of those is quick.
static char buffers[SLOTS][2][OUTPUT_BUFFERED_MAX];

char *exec_buffered(const struct exec *exec, const struct stream *stream)
{
	return buffers[exec->slot][stream - exec->streams];
}

/* Returns how much of it the log took. A log that did not take all is not used any more. */
static size_t write_log(struct stream *stream, const char *data, size_t size)
{
	size_t done = 0;
	while (done < size && stream->log >= 0) {
		ssize_t n = write(stream->log, data + done, size - done);
		if (n > 0) {
			done += n;
		} else if (n == 0 || errno != EINTR) {
			stream->error = n == 0 ? EIO : errno;
			close_fd(&stream->log);
		}
	}
	return done;
}

/* Its beginning, whether a log takes it or not. */
static size_t remember(const struct exec *exec, struct stream *stream, const char *data,
                       size_t size)
{
	if (stream->size >= OUTPUT_BUFFERED_MAX)
		return 0;
	size_t room = OUTPUT_BUFFERED_MAX - stream->size;
	size_t n = size < room ? size : room;
	memcpy(exec_buffered(exec, stream) + stream->size, data, n);
	return n;
}

/*
 * To the log, or to memory if that holds all there is so far. Bytes that fit
 * nowhere are lost, with all that follow: the stream is reported as short, but
 * has no gap.
 */
static void store_output(struct exec *exec, struct stream *stream, const char *data, size_t size)
{
	size_t stored = 0;
	if (stream->lost == 0) {
		size_t remembered = remember(exec, stream, data, size);
		stored = write_log(stream, data, size);
		if (stream->log < 0 && stream->size + stored <= OUTPUT_BUFFERED_MAX) {
			stream->is_in_memory = true;
			stored = remembered;
		}
	}
	stream->size += stored;
	stream->lost += size - stored;
	if (stored < size && exec->ended.log_errno == 0)
		exec->ended.log_errno = stream->error;
	exec->output_due = exec->output_due || stored > 0;
}

static void take_output(struct exec *exec, struct stream *stream, const char *data, size_t size)
{
	if (exec->ended.flags & ENDED_TRUNCATED)
		return;
	if (size <= exec->room) {
		exec->room -= size;
		store_output(exec, stream, data, size);
		return;
	}
	store_output(exec, stream, data, exec->room);
	exec->ended.flags |= ENDED_TRUNCATED;
	if (!exec->has_segments)
		exec_end(exec, END_OUTPUT_LIMIT, SIGTERM, exec->grace);
}

void exec_heed_pipes(struct exec *exec, uint32_t events)
{
	for (int i = 0; i < 2; i++)
		if (exec->streams[i].pipe >= 0)
			exec_control(exec, EPOLL_CTL_MOD, exec->streams[i].pipe, SOURCE_STDOUT + i, events);
}

/* Until there is a log the pipes are left alone: the command waits, if it goes on writing. */
static void want_logs(struct exec *exec)
{
	exec->needs_log = exec->log_due = true;
	exec_heed_pipes(exec, EPOLLET); // KERNEL: poll reports their end in any case, but once
}

/* One read, so that a flood in one pipe does not keep us from the rest of the box. */
static ssize_t copy_output(struct exec *exec, struct stream *stream, size_t most)
{
	static char chunk[OUTPUT_CHUNK]; // KERNEL: on a stack each page of it is copied after a fork
	bool is_cut = exec->ended.flags & ENDED_TRUNCATED;
	size_t room = exec->is_buffered && !is_cut ? OUTPUT_BUFFERED_MAX - stream->size : sizeof chunk;
	if (exec->needs_log || exec->segment_due)
		return -1;
	if (room == 0) {
		want_logs(exec);
		return -1;
	}
	ssize_t n = read(stream->pipe, chunk, most < room ? most : room);
	if (exec->terminal && (n > 0 || errno == EIO))
		exec->terminal->is_hung_up = n < 0;
	if (n > 0)
		take_output(exec, stream, chunk, n);
	if (n == 0)
		exec_unwatch(exec, &stream->pipe);
	return n;
}

/* KERNEL: a terminal counts what has arrived, not what is on its way. It holds no more than this. */
static int left_in(const struct exec *exec, const struct stream *stream)
{
	int left = 0;
	if (exec->terminal)
		return OUTPUT_CHUNK;
	return ioctl(stream->pipe, FIONREAD, &left) == 0 ? left : 0;
}

/* Reads what is in the pipes by now: a living writer could go on for ever. */
void exec_drain(struct exec *exec)
{
	for (int i = 0; i < 2; i++) {
		struct stream *stream = &exec->streams[i];
		int left = stream->pipe < 0 ? 0 : left_in(exec, stream);
		for (ssize_t n; left > 0 && (n = copy_output(exec, stream, left)) > 0;)
			left -= n;
	}
}

/* Bytes that it does not take stay in the pipe. */
static void take_log(struct exec *exec, struct stream *stream, int *log)
{
	stream->log = *log;
	*log = -1; // ours now
	stream->is_in_memory =
		write_log(stream, exec_buffered(exec, stream), stream->size) < stream->size;
}

/* ORDER: what was buffered comes first, then what is in the pipes. */
void exec_take_logs(struct exec *exec, struct message *message, int error)
{
	if (!exec->needs_log)
		return;
	exec->needs_log = exec->is_buffered = exec->log_due = false;
	for (int i = 0; i < 2; i++) {
		exec->streams[i].error = error;
		if (!error)
			take_log(exec, &exec->streams[i], &message->fds[i]);
	}
	exec_heed_pipes(exec, EPOLLIN);
	if (exec->is_to_be_split)
		exec_split(exec);
	if (exec->phase != EXEC_FILLING)
		return;
	exec_finish(exec);
}

// ------------------------------------------------------------------- segments

/* ORDER: what is in the pipes by now was written before the engine asked; all later is the next. */
void exec_split(struct exec *exec)
{
	if (exec->phase == EXEC_FILLING || exec->phase == EXEC_OVER)
		return; // the ENDED message reports all of it
	exec_drain(exec);
	exec->is_to_be_split = exec->needs_log;
	exec->segment_due = !exec->needs_log;
	if (exec->segment_due)
		exec_heed_pipes(exec, EPOLLET);
}

void exec_begin_segment(struct exec *exec)
{
	for (int i = 0; i < 2; i++) {
		struct stream *stream = &exec->streams[i];
		close_fd(&stream->log);
		*stream = (struct stream){.pipe = stream->pipe, .log = -1, .is_in_memory = true};
	}
	exec->segment_due = exec->output_due = false;
	exec->is_buffered = true;
	exec->room = exec->limit;
	exec->ended.flags &= ~ENDED_TRUNCATED;
	exec->ended.log_errno = 0;
	exec_heed_pipes(exec, EPOLLIN);
}

// ------------------------------------------------------------------- terminal

/* What it waits for follows from what it holds. */
static void heed_terminal(struct exec *exec)
{
	struct terminal *terminal = exec->terminal;
	uint32_t interest = terminal_interest(terminal);
	if (interest != terminal->interest)
		exec_control(exec, EPOLL_CTL_MOD, exec->streams[0].pipe, SOURCE_STDOUT, interest);
	terminal->interest = interest;
	if (terminal->end == 0 && terminal->input >= 0)
		exec_control(exec, EPOLL_CTL_MOD, terminal->input, SOURCE_INPUT, EPOLLIN | EPOLLONESHOT);
}

static void attend_terminal(struct exec *exec, enum exec_source source)
{
	struct stream *stream = &exec->streams[0];
	if (source == SOURCE_INPUT)
		terminal_read(exec->terminal, stream->pipe);
	else
		copy_output(exec, stream, OUTPUT_CHUNK);
	terminal_write(exec->terminal, stream->pipe);
	heed_terminal(exec);
}

void exec_resize(struct exec *exec, uint16_t rows, uint16_t columns)
{
	if (exec->terminal)
		terminal_resize(exec->streams[0].pipe, rows, columns);
}

/* Its output, or input for its terminal. */
void exec_attend_output(struct exec *exec, enum exec_source source)
{
	if (exec->terminal)
		attend_terminal(exec, source);
	else if (exec->streams[source].pipe >= 0)
		copy_output(exec, &exec->streams[source], OUTPUT_CHUNK);
}
