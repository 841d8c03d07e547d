/*
 * How a forkserver becomes a zygote: it puts zygote.c, which was built as a library and lies in this
 * program, where the interpreter finds it, and executes that.
 */
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "init.h"

#define WORDS_MAX 128

extern const char zygote_library[], zygote_library_end[];

__asm__(".section .rodata\n"
        ".global zygote_library, zygote_library_end\n"
        "zygote_library: .incbin \"build/zygote.so\"\n"
        "zygote_library_end:\n"
        ".previous\n");

/* On what no box sees: each mounts a /tmp of its own, and ours goes before the first is made. */
static void place_library(void)
{
	size_t size = zygote_library_end - zygote_library;
	if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=8m,mode=0700") != 0)
		die("mount a tmpfs for the zygote");
	int fd = open(ZYGOTE_LIBRARY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500);
	if (fd < 0 || write(fd, zygote_library, size) != (ssize_t)size)
		die("write " ZYGOTE_LIBRARY);
	close(fd);
}

/* Strings, each with its NUL: argv, an empty one, the environment. */
static void read_words(int fd, char **argv, char **environment)
{
	struct stat file;
	char **list = argv;
	size_t count = 0;
	if (fstat(fd, &file) != 0)
		die("look at the words of the zygote");
	char *text = calloc(1, file.st_size + 1);
	if (!text || pread(fd, text, file.st_size, 0) != file.st_size)
		die("read the words of the zygote");
	for (char *word = text; word < text + file.st_size; word += strlen(word) + 1) {
		errno = E2BIG;
		if (count == WORDS_MAX)
			die("take the words of the zygote");
		if (*word != '\0') {
			list[count++] = word;
		} else {
			list = environment;
			count = 0;
		}
	}
}

noreturn void zygote_exec(int control, int words)
{
	static char *argv[WORDS_MAX + 1], *environment[WORDS_MAX + 1];
	read_words(words, argv, environment);
	// What is imported is the host's own, and needs no help from outside.
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC) != 0)
		die("leave the network to others");
	place_library();
	if (control != ZYGOTE_CONTROL && dup2(control, ZYGOTE_CONTROL) < 0)
		die("hand over the control socket");
	keep_only((int[]){ZYGOTE_CONTROL}, 1);
	fcntl(ZYGOTE_CONTROL, F_SETFD, 0);
	errno = EINVAL;
	if (argv[0])
		execvpe(argv[0], argv, environment);
	die("execute the interpreter of the zygote");
}
