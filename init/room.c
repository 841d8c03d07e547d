/*
 * Is there room for a program? Told before it begins: a JVM that lacks threads hangs and heeds no
 * signal, one that lacks memory is killed without a word.
 */
#include <limits.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>

#include "init.h"

#define CGROUPS "/sys/fs/cgroup"

struct memory {
	uint64_t bytes;
	char source[PATH_MAX];
};

static bool demand(bool is_enough, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool demand(bool is_enough, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (!is_enough) {
		dprintf(STDERR_FILENO, "ebb: too little room here: ");
		vdprintf(STDERR_FILENO, format, arguments);
		dprintf(STDERR_FILENO, "\n");
	}
	va_end(arguments);
	return is_enough;
}

/* By trying: no limit that holds is forgotten, nor what others use of it. They end with us. */
static uint32_t pids_left(uint32_t wanted)
{
	int gate[2];
	uint32_t count = 0;
	pid_t *pids = calloc(wanted + 1, sizeof *pids);
	if (!pids || pipe2(gate, O_CLOEXEC) != 0)
		die("look for room");
	while (count < wanted && (pids[count] = fork()) >= 0) {
		char byte;
		if (pids[count] == 0) {
			close(gate[1]);
			(void)!read(gate[0], &byte, 1);
			_exit(EXIT_SUCCESS);
		}
		count++;
	}
	close(gate[0]);
	close(gate[1]);
	for (uint32_t i = 0; i < count; i++)
		waitpid(pids[i], NULL, 0);
	free(pids);
	return count;
}

static void take_limit(struct memory *least, const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_read = fd >= 0 && read(fd, text, sizeof text - 1) > 0;
	close_fd(&fd);
	uint64_t value = is_read && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : ~0ull;
	if (value >= least->bytes)
		return;
	least->bytes = value;
	snprintf(least->source, sizeof least->source, "%s", path);
}

/* KERNEL: all on the way up hold; in a container the way ends at the root we see. */
static void take_limits_up(struct memory *least, const char *top, char *cgroup, const char *file)
{
	char path[PATH_MAX];
	for (char *end = cgroup + strlen(cgroup); end; end = strrchr(cgroup, '/')) {
		*end = '\0';
		snprintf(path, sizeof path, "%s%s/%s", top, cgroup, file);
		take_limit(least, path);
	}
}

/* The same as CgroupChain and Gauges see it. */
static void memory_limit(struct memory *least)
{
	struct sysinfo host;
	sysinfo(&host);
	*least = (struct memory){(uint64_t)host.totalram * host.mem_unit, "what the host has"};
	FILE *cgroups = fopen("/proc/self/cgroup", "re");
	if (!cgroups)
		die("open /proc/self/cgroup");
	char line[PATH_MAX];
	while (fgets(line, sizeof line, cgroups)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (controllers[1] == '\0')
			take_limits_up(least, CGROUPS, path, "memory.max");
		else if (strcmp(controllers + 1, "memory") == 0)
			take_limits_up(least, CGROUPS "/memory", path, "memory.limit_in_bytes");
	}
	fclose(cgroups);
}

/* Says what is too little, all of it. */
bool room_is_enough(const struct room *needed)
{
	struct rlimit files;
	struct memory memory;
	uint32_t pids = pids_left(needed->pids);
	getrlimit(RLIMIT_NOFILE, &files);
	memory_limit(&memory);
	bool has_pids = demand(
		pids >= needed->pids,
		"%u more processes and threads can be started, %u are needed; raise pids.max of the "
		"cgroup (docker: --pids-limit, systemd: TasksMax=), or ulimit -u",
		pids, needed->pids);
	bool has_files = demand(
		files.rlim_max >= needed->files,
		"%u files can be open, %u are needed; raise ulimit -n (docker: --ulimit nofile=, systemd: "
		"LimitNOFILE=)",
		(unsigned)files.rlim_max, needed->files);
	bool has_memory = demand(
		memory.bytes >> 20 >= needed->memory,
		"%u MiB of memory by %s, %u are needed; raise it (docker: --memory, systemd: MemoryMax=)",
		(unsigned)(memory.bytes >> 20), memory.source, needed->memory);
	return has_pids && has_files && has_memory;
}
