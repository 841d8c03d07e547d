// What init reports to the engine about a command.
#include "exec.h"

// What the workspace held when they ended. Beside the execs, so that looking at all of those is quick.
static struct report seen[SLOTS];

void exec_list(struct exec *exec)
{
	exec->list_due = true;
	contents_list(&seen[exec->slot]);
}

/* A message, with the output since the last one, if it is in memory. */
static bool tell(struct exec *exec, int control, enum message_type type, const void *word,
                 size_t size)
{
	static char body[sizeof(struct ended) + sizeof(struct buffered) + 2 * OUTPUT_BUFFERED_MAX];
	uint32_t sizes[2] = {0, 0};
	size_t end = size + sizeof sizes;
	for (int i = 0; i < 2; i++) {
		const struct stream *stream = &exec->streams[i];
		if (!stream->is_in_memory)
			continue;
		sizes[i] = stream->size - stream->sent;
		memcpy(body + end, exec_buffered(exec, stream) + stream->sent, sizes[i]);
		end += sizes[i];
	}
	memcpy(body, word, size);
	memcpy(body + size, sizes, sizeof sizes);
	if (!message_send(control, type, exec->id, body, end, -1))
		return false;
	exec->streams[0].sent += sizes[0];
	exec->streams[1].sent += sizes[1];
	return true;
}

static bool report_last(struct exec *exec, int control)
{
	if (exec->refusal.step)
		return message_send(control, MESSAGE_REFUSED, exec->id, &exec->refusal,
		                    sizeof exec->refusal, -1);
	if (exec->list_due &&
	    !contents_tell(&seen[exec->slot], control, MESSAGE_LISTED, exec->id))
		return false;
	exec->list_due = false;
	return tell(exec, control, MESSAGE_ENDED, &exec->ended, sizeof exec->ended);
}

static bool report_output(struct exec *exec, int control)
{
	uint64_t sizes[] = {exec->streams[0].size, exec->streams[1].size};
	return tell(exec, control, MESSAGE_OUTPUT, sizes, sizeof sizes);
}

static bool report_segment(struct exec *exec, int control)
{
	struct segment segment = {exec->streams[0].size, exec->streams[1].size,
	                          exec->ended.flags & ENDED_TRUNCATED, exec->ended.log_errno,
	                          exec->streams[0].lost, exec->streams[1].lost};
	return tell(exec, control, MESSAGE_SEGMENT, &segment, sizeof segment);
}

/* Each message wakes a thread of the engine, beside a command that most often ends in a moment. */
bool exec_holds_start(const struct exec *exec)
{
	return exec->started_due && exec->phase == EXEC_RUNNING && !exec->is_start_awaited &&
	       !exec->log_due && !exec->segment_due && !exec->output_due &&
	       now() < exec->started_late;
}

void exec_await_start(struct exec *exec)
{
	exec->is_start_awaited = true;
}

/*
 * Sends what is due, in order. Nothing is queued: the exec itself shows what is
 * due. Output is reported once in a millisecond, so that the engine does not
 * work for every byte.
 */
bool exec_report(struct exec *exec, int control)
{
	uint32_t pids[] = {exec->leader, exec->tree.subreaper};

	if (exec->started_due && exec->phase != EXEC_OVER && !exec->leader)
		return true; // its subreaper has not reported yet
	if (exec_holds_start(exec))
		return true;
	if (exec->started_due) {
		if (!message_send(control, MESSAGE_STARTED, exec->id, pids, sizeof pids, -1))
			return false;
		exec->started_due = false;
	}
	if (exec->log_due) {
		if (!message_send(control, MESSAGE_NEED_LOG, exec->id, NULL, 0, -1))
			return false;
		exec->log_due = false;
	}
	if (exec->phase == EXEC_OVER) {
		if (exec->last_due && !report_last(exec, control))
			return false;
		exec->last_due = exec->output_due = false;
	} else if (exec->segment_due) {
		if (!report_segment(exec, control))
			return false;
		exec_begin_segment(exec);
	} else if (exec->output_due && exec->failure < 0 && exec->told_at != now()) {
		if (!report_output(exec, control))
			return false;
		exec->output_due = false;
		exec->told_at = now();
	}
	return true;
}

void exec_repeat(struct exec *exec)
{
	exec->started_due = exec->is_started;
	exec->started_late = 0;
	exec->output_due = exec->streams[0].size > 0 || exec->streams[1].size > 0;
	exec->last_due = exec->phase == EXEC_OVER;
	exec->log_due = exec->needs_log;
	exec->streams[0].sent = exec->streams[1].sent = 0;
	exec->told_at = 0;
}
