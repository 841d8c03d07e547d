/*
 * Checks, before a program begins, that there is room for it: a JVM that lacks
 * threads hangs and handles no signal; one that lacks memory is killed
 * silently.
 */
#include <getopt.h>
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

/* A string of JSON. */
static void print_quoted(const char *text)
{
	putchar('"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < ' ')
			printf("\\u%04x", *text);
		else
			putchar(*text);
	putchar('"');
}

/* Prints a line of doctor, an entry of its list for programs, or an error for the caller. */
static void tell(const struct preflight *needed, const char *finding, const char *remedy)
{
	if (needed->style == PREFLIGHT_JSON) {
		fputs(needed->told == 1 ? "[" : ",", stdout);
		fputs("{\"name\":\"preflight\",\"verdict\":\"failed\",\"finding\":", stdout);
		print_quoted(finding);
		fputs(",\"remedy\":", stdout);
		print_quoted(remedy);
		putchar('}');
	} else if (needed->style == PREFLIGHT_DOCTOR) {
		printf("%-8s  %-12s  %s\n%-8s  %-12s  -> %s\n", "failed", "preflight", finding, "", "", remedy);
	} else {
		fprintf(stderr, "ebb: preflight failed: %s; %s\n", finding, remedy);
	}
}

static void demand(struct preflight *needed, bool is_enough, const char *remedy, const char *format,
                   ...) __attribute__((format(printf, 4, 5)));

static void demand(struct preflight *needed, bool is_enough, const char *remedy, const char *format, ...)
{
	char finding[PATH_MAX + 256];
	va_list arguments;
	if (is_enough)
		return;
	va_start(arguments, format);
	vsnprintf(finding, sizeof finding, format, arguments);
	va_end(arguments);
	needed->told++;
	tell(needed, finding, remedy);
}

/* By trying: no limit that holds is forgotten, nor what others use of it. They end with us. */
static uint32_t pids_left(uint32_t wanted)
{
	int gate[2];
	uint32_t count = 0;
	pid_t *pids = calloc(wanted + 1, sizeof *pids);
	if (!pids || pipe2(gate, O_CLOEXEC) != 0)
		die("count free pids");
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

/* The limit as CgroupChain and Gauges see it. */
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

/* Reports everything of which there is too little. */
bool preflight_passes(struct preflight *needed)
{
	struct rlimit files;
	struct memory memory;
	uint32_t pids = pids_left(needed->pids);
	getrlimit(RLIMIT_NOFILE, &files);
	memory_limit(&memory);
	demand(needed, pids >= needed->pids,
	       "raise pids.max of the cgroup (docker: --pids-limit, systemd: TasksMax=), or ulimit -u",
	       "%u more processes and threads can be started, %u are needed", pids, needed->pids);
	demand(needed, files.rlim_max >= needed->files,
	       "raise ulimit -n (docker: --ulimit nofile=, systemd: LimitNOFILE=)",
	       "%u files can be open, %u are needed", (unsigned)files.rlim_max, needed->files);
	demand(needed, memory.bytes >> 20 >= needed->memory,
	       "raise it (docker: --memory, systemd: MemoryMax=)",
	       "%u MiB of memory by %s, %u are needed", (unsigned)(memory.bytes >> 20), memory.source,
	       needed->memory);
	if (needed->told > 0 && needed->style == PREFLIGHT_JSON)
		puts("]");
	fflush(stdout);
	return needed->told == 0;
}

static enum preflight_style style(const char *word)
{
	errno = EINVAL;
	if (strcmp(word, "doctor") != 0 && strcmp(word, "json") != 0)
		die("unknown output format \"%s\"", word);
	return *word == 'j' ? PREFLIGHT_JSON : PREFLIGHT_DOCTOR;
}

/* The program behind what it needs, if there is one. */
char **preflight_parse(struct preflight *needed, int argc, char **argv)
{
	static const struct option options[] = {
		{"pids", 1, 0, 'p'}, {"files", 1, 0, 'f'}, {"memory", 1, 0, 'm'}, {"as", 1, 0, 'a'}, {0},
	};
	for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;)
		switch (option) {
		case 'p': needed->pids = number(optarg); break;
		case 'f': needed->files = number(optarg); break;
		case 'm': needed->memory = number(optarg); break;
		case 'a': needed->style = style(optarg); break;
		default: exit(OWN_FAILURE);
		}
	return argv + optind;
}

/* Becomes the program, if there is room for it, and if there is one. */
int preflight(int argc, char **argv)
{
	struct preflight needed = {0};
	char **program = preflight_parse(&needed, argc, argv);
	if (!preflight_passes(&needed))
		return OWN_FAILURE;
	if (program[0])
		become(program);
	return EXIT_SUCCESS;
}
