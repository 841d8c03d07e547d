// The tree of an exec on a host without cgroups: what descends from its subreaper.
#include <ctype.h>
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init.h"

#define SUBREAPERS_MAX 512
#define LOOKED_LATELY 100 /* ms ago */
#define STOP_ROUNDS 200 /* of a tenth of a millisecond, for a box to stand still */

struct subreaper {
	pid_t pid;
	bool is_doomed; /* and all that descends from it */
};

static struct subreaper subreapers[SUBREAPERS_MAX]; /* the living; kept ones outlive their exec */
static unsigned living;
static bool are_strays_doomed;

uint64_t subreaper_processes(uint64_t most)
{
	return most + 1 + living; // init and the subreapers
}

// ------------------------------------------------------------------- subreaper

/*
 * KERNEL: inside its user namespace a box's processes are counted apart from the host's. A fork is
 * refused by the limit of the parent: so a command is, too, where others have left it no room.
 */
static bool limit_processes(uint64_t most)
{
	return !most || limit(RLIMIT_NPROC, subreaper_processes(most) + 1); // this subreaper is not counted yet
}

/*
 * A child of init and parent of a command, in between as a subreaper: whatever the command leaves
 * behind falls to the subreaper, however it was daemonised. Ends when all have ended.
 * SAFETY: it has the uid of the box, so a command may kill it; then its descendants fall to init.
 */
static noreturn void run_subreaper(const struct start *start, int news)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t leader = limit_processes(start->request.processes) ? fork() : -1;
	if (leader == 0)
		start_run(start);
	if (leader < 0)
		start_refuse(start, STEP_CLONE, errno);
	prctl(PR_SET_NAME, "ebb-subreaper");
	block_all_signals(NULL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fd != news)
			close(fd);
	keep_only(&news, 1);
	(void)!write(news, &(struct news){.leader = leader}, sizeof(struct news));

	siginfo_t child = {0};
	struct rusage usage;
	// KERNEL: the library's waitid hides the usage.
	while (syscall(SYS_waitid, P_ALL, 0, &child, WEXITED, &usage) == 0 || errno == EINTR)
		if (child.si_pid == leader) {
			struct news end = {leader, child.si_code, child.si_status, usage.ru_maxrss};
			(void)!write(news, &end, sizeof end);
			leader = 0;
		}
	_exit(EXIT_SUCCESS);
}

pid_t subreaper_fork(const struct start *start, int news)
{
	errno = EAGAIN;
	if (living == SUBREAPERS_MAX)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		run_subreaper(start, news);
	if (pid > 0)
		subreapers[living++] = (struct subreaper){.pid = pid};
	return pid;
}

void subreaper_forget(pid_t reaped)
{
	for (unsigned i = 0; i < living; i++)
		if (subreapers[i].pid == reaped)
			subreapers[i] = subreapers[--living];
}

unsigned subreaper_count(void)
{
	return living;
}

pid_t subreaper_pid(unsigned i)
{
	return subreapers[i].pid;
}

static struct subreaper *find_subreaper(pid_t pid)
{
	for (unsigned i = 0; i < living; i++)
		if (subreapers[i].pid == pid)
			return &subreapers[i];
	return NULL;
}

static bool is_subreaper(pid_t pid)
{
	return find_subreaper(pid) != NULL;
}

// --------------------------------------------------------------------- census

struct member {
	pid_t pid, parent;
	char state;
	uint32_t threads;
	pid_t thread;   /* one that lives; 0: the first does */
	pid_t subreaper; /* 0: a stray, that is, whose subreaper is dead */
};

struct census {
	struct member *members; /* by pid, as /proc lists them */
	size_t count, room;
	uint64_t taken_at;
};

static struct census census, before;

static ssize_t read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	close_fd(&fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

static bool read_stat(struct member *member, const char *name)
{
	char text[512];
	const char *end_of_name;
	return read_proc(member->pid, name, text, sizeof text) > 0 &&
	       (end_of_name = strrchr(text, ')')) &&
	       sscanf(end_of_name,
	              ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u",
	              &member->state, &member->parent, &member->threads) == 3;
}

static bool is_dead(const struct member *member)
{
	return (member->state == 'Z' || member->state == 'X') && member->threads <= 1;
}

/* KERNEL: a process whose first thread has ended shows as Z; the other threads show its state. */
static void read_threads(struct member *member)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%d/task", member->pid);
	DIR *threads = opendir(path);
	for (struct dirent *each; threads && member->state == 'Z' && (each = readdir(threads));) {
		snprintf(path, sizeof path, "task/%.20s/stat", each->d_name);
		if (read_stat(member, path))
			member->thread = atoi(each->d_name);
	}
	if (threads)
		closedir(threads);
}

static bool read_member(struct member *member)
{
	if (!read_stat(member, "stat"))
		return false;
	if (member->state == 'Z' && !is_dead(member))
		read_threads(member);
	return true;
}

static struct member *find(const struct census *in, pid_t pid)
{
	size_t low = 0, high = in->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (in->members[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < in->count && in->members[low].pid == pid ? &in->members[low] : NULL;
}

static bool make_room(struct census *in)
{
	if (in->count < in->room)
		return true;
	size_t room = in->room ? 2 * in->room : 256;
	struct member *larger = reallocarray(in->members, room, sizeof *larger);
	if (!larger)
		return false;
	in->members = larger;
	in->room = room;
	return true;
}

static void attribute(struct census *in, struct member *member)
{
	struct member *each = member;
	for (size_t i = 0; each && i < in->count && !is_subreaper(each->pid); i++)
		each = find(in, each->parent);
	member->subreaper = each && is_subreaper(each->pid) ? each->pid : 0;
}

/* Nothing can be read of a process that ended meanwhile, and nothing is needed. */
static bool is_gone(void)
{
	return errno == 0 || errno == ENOENT || errno == ESRCH;
}

/* All processes of the box but init. False: not to be had now, which does not mean none. */
static bool take(struct census *in)
{
	DIR *proc = opendir("/proc");
	in->count = 0;
	in->taken_at = now();
	if (!proc)
		return false;
	bool is_whole = true;
	for (struct dirent *entry; is_whole && (errno = 0, entry = readdir(proc));) {
		struct member member = {.pid = isdigit(entry->d_name[0]) ? atoi(entry->d_name) : 0};
		if (member.pid <= 1)
			continue;
		if (!read_member(&member))
			is_whole = is_gone();
		else if ((is_whole = make_room(in)))
			in->members[in->count++] = member;
	}
	is_whole = is_whole && errno == 0;
	closedir(proc);
	for (size_t i = 0; i < in->count; i++)
		attribute(in, &in->members[i]);
	return is_whole;
}

/* The next living descendant of a subreaper; begin with NULL. */
static const struct member *next(const struct census *in, const struct member *last, pid_t subreaper)
{
	const struct member *end = in->members + in->count;
	for (const struct member *each = last ? last + 1 : in->members; each < end; each++)
		if (each->subreaper == subreaper && !is_subreaper(each->pid) && !is_dead(each))
			return each;
	return NULL;
}

// ----------------------------------------------------------------------- ends

/* RACE: as with a leaf, a member may end and its pid be another's; so only for polite signals. */
unsigned subreaper_signal(pid_t subreaper, int signal)
{
	unsigned members = 0;
	take(&census);
	for (const struct member *each = NULL; (each = next(&census, each, subreaper));)
		members += kill(each->pid, signal) == 0;
	return members;
}

bool subreaper_is_empty(pid_t subreaper)
{
	return take(&census) && !next(&census, NULL, subreaper);
}

/* RACE: one in state D may be in the middle of a fork that was begun before we stopped it. */
static bool stands_still(const struct census *in)
{
	for (size_t i = 0; i < in->count; i++)
		if (!is_dead(&in->members[i]) && !strchr("Tt", in->members[i].state))
			return false;
	return true;
}

/*
 * KERNEL: kill(-1) reaches every process of the namespace but us, at one instant: a fork is either
 * begun, and the child will be reached too, or is not, for a signal is pending. Only a
 * process that another one wakes between their two stops gets away, for this round.
 *
 * RACE: a child can be born after /proc was listed and before its parent was seen to stand still.
 * So all are counted again.
 */
static bool stop_box(void)
{
	size_t still = 0;
	for (int round = 0; round < STOP_ROUNDS; round++) {
		kill(-1, SIGSTOP);
		bool is_still = take(&census) && stands_still(&census);
		if (is_still && census.count == still)
			return true;
		still = is_still ? census.count : 0;
		if (!is_still)
			usleep(100);
	}
	return false;
}

static bool was_stopped(pid_t pid)
{
	const struct member *member = find(&before, pid);
	return member && strchr("Tt", member->state);
}

void subreaper_doom(pid_t subreaper)
{
	struct subreaper *found = find_subreaper(subreaper);
	if (found)
		found->is_doomed = true;
	else
		are_strays_doomed = true;
}

static bool is_doomed(pid_t subreaper)
{
	const struct subreaper *found = find_subreaper(subreaper);
	return found ? found->is_doomed : are_strays_doomed;
}

static unsigned doomed_count(void)
{
	unsigned count = 0;
	for (unsigned i = 0; i < living; i++)
		count += subreapers[i].is_doomed;
	return count;
}

static void forgive(void)
{
	are_strays_doomed = false;
	for (unsigned i = 0; i < living; i++)
		subreapers[i].is_doomed = false;
}

/*
 * The doomed processes die and the others continue, as far as each could be
 * assigned; a process that changed its place is left for the next round.
 */
static void sort_out(void)
{
	// One look is enough for many kills in a row.
	if (now() >= before.taken_at + LOOKED_LATELY)
		take(&before);
	bool is_still = stop_box();
	for (size_t i = 0; i < census.count; i++) {
		const struct member *each = &census.members[i];
		bool is_command = !is_subreaper(each->pid);
		if (is_command && is_doomed(each->subreaper))
			kill(each->pid, SIGKILL);
		if (!is_command || !was_stopped(each->pid))
			kill(each->pid, SIGCONT);
	}
	if (is_still)
		forgive();
}

/*
 * Alone in the box, the doomed end by one call, their subreapers with them. With others beside
 * them the box is stopped, once for them all.
 */
bool subreaper_kill(void)
{
	unsigned doomed = doomed_count();
	if (doomed == 0 && !are_strays_doomed)
		return false;
	if (doomed < living) {
		sort_out();
		return true;
	}
	take(&census);
	kill(-1, SIGKILL);
	forgive();
	return true;
}

/* Nothing can end it: it waits for a device, or a file system. */
bool subreaper_is_stuck(pid_t subreaper)
{
	bool is_stuck = take(&census);
	for (const struct member *each = NULL; (each = next(&census, each, subreaper));)
		is_stuck = is_stuck && each->state == 'D';
	return is_stuck;
}

/* A subreaper that a command has stopped goes on: it is waited for. */
void subreaper_look(void)
{
	take(&census);
	for (size_t i = 0; i < census.count; i++)
		if (is_subreaper(census.members[i].pid) && census.members[i].state == 'T')
			kill(census.members[i].pid, SIGCONT);
}

struct usage subreaper_usage(pid_t subreaper)
{
	struct usage usage = {0};
	for (const struct member *each = NULL; (each = next(&census, each, subreaper));) {
		char name[32] = "statm", text[128];
		unsigned long resident, shared;
		usage.processes += each->threads;
		if (each->thread) // KERNEL: a thread that has ended has no memory, though its process has
			snprintf(name, sizeof name, "task/%d/statm", each->thread);
		if (read_proc(each->pid, name, text, sizeof text) > 0 &&
		    sscanf(text, "%*u %lu %lu", &resident, &shared) == 2 && resident > shared)
			usage.memory += (resident - shared) * sysconf(_SC_PAGESIZE);
	}
	return usage;
}
