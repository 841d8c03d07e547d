/*
 * The zygote: a forkserver in an interpreter that has started, and imported what programs need.
 *
 * This is a module for it. Each box it makes has a copy of the interpreter as its pid 1, which does
 * what any init does; and the first command that this one is asked for can be a copy of the copy,
 * for which the import is over. On its way there it has become all that a command is that is
 * executed (start.c), and nothing of a program was read yet.
 *
 * No program ever runs here, and nothing is known here of any box.
 */
#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "init.h"

/* Pids of a box that its first command may have; see refuse_twins. */
#define FIRST_PIDS 3

/* See mmap_rnd_bits in proc(5). */
#define SCATTER_BITS 28

static struct title title;
static jmp_buf home;

/* Of python, whose headers are not needed for so little: part of its stable interface. */
struct method {
	const char *name;
	void *(*call)(void *self, void *argument);
	int flags;
	const char *documentation;
};

#define METH_O 8

extern void *PyExc_ImportError;
void *PyCFunction_NewEx(const struct method *method, void *self, void *module);
long PyLong_AsLong(void *number);
int PySys_SetObject(const char *name, void *value);
void PyErr_SetString(void *type, const char *text);
void PyOS_BeforeFork(void);
void PyOS_AfterFork_Child(void);

static struct {
	struct robust_list_head *head;
	size_t size;
} robust;

/* KERNEL: the arguments of a command line lie one behind the other. */
__attribute__((constructor)) static void note_title(int argc, char **argv)
{
	char *last = argv[argc - 1];
	title = (struct title){argv[0], last + strlen(last) + 1 - argv[0]};
}

/*
 * Work that fork(2) of libc does, but clone3(2) does not: without it the first
 * thread of a command has the number that it had here, which in its box may be
 * another's.
 */
static void study_libc(void)
{
	int *address = NULL;
	if (prctl(PR_GET_TID_ADDRESS, &address) != 0 || !address || *address != gettid())
		die("find the number of the thread");
	tid_address = (uintptr_t)address;
	if (syscall(SYS_get_robust_list, 0, &robust.head, &robust.size) != 0)
		die("find the locks of the thread");
}

/* KERNEL: a thread is not copied, only what it has locked. */
static void refuse_threads(void)
{
	if (unshare(CLONE_THREAD) == 0)
		return;
	errno = 0;
	die("copy a process of many threads, which one of the modules has started");
}

/* Libraries that detect a fork by a changed pid (OpenSSL does) must see one. */
static void refuse_twins(void)
{
	errno = EINVAL;
	if (getpid() <= FIRST_PIDS)
		die("be process %d, as a command of a box may be", getpid());
}

/*
 * What is here already lies where it lies in each copy. What comes lies elsewhere: below a gap of
 * random size, of as many pages as the kernel chooses from for a program that is executed.
 * KERNEL: mmap(2) places each mapping below the last one, and a page that none may touch costs nothing.
 */
static void scatter(void)
{
	uint64_t pages = 0;
	if (getrandom(&pages, sizeof pages, 0) != sizeof pages)
		die("draw a random number");
	pages = (pages & ((1UL << SCATTER_BITS) - 1)) + 1;
	if (mmap(NULL, pages * sysconf(_SC_PAGESIZE), PROT_NONE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		die("leave a gap of %llu pages", (unsigned long long)pages);
}

static noreturn void resume(char **environment)
{
	scatter();
	syscall(SYS_set_robust_list, robust.head, robust.size);
	inside_forget();
	take_title(&title, "python3 -c");
	prctl(PR_SET_NAME, "python3");
	prctl(PR_SET_DUMPABLE, 1); // as exec would
	environ = environment; // what python knows of it is the same
	longjmp(home, 1);
}

static void prepare(void)
{
	int control = ZYGOTE_CONTROL;
	refuse_threads();
	refuse_twins();
	study_libc();
	keep_only(&control, 1);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "ebb-zygote");
	if (umount2("/tmp", MNT_DETACH) != 0)
		die("unmount the library");
	if (chdir("/") != 0)
		die("change to /");
	errno = 0;
	if (!seccomp_build())
		die("build the filter");
	start_resume = resume;
}

/* Ends the process as main() would, and not as _exit(2): what C libraries have to write is written. */
static void *leave(void *self, void *status)
{
	(void)self;
	exit(PyLong_AsLong(status));
}

/* The import calls this. It returns in the first command of each box; there is no module. */
__attribute__((visibility("default"))) void *PyInit_ebb(void)
{
	prepare();
	PyOS_BeforeFork();
	if (setjmp(home) == 0) {
		clone_box_serve(ZYGOTE_CONTROL, &title);
		_exit(EXIT_SUCCESS);
	}
	PyOS_AfterFork_Child();
	static const struct method method = {"leave", leave, METH_O, NULL};
	PySys_SetObject("_ebb_leave", PyCFunction_NewEx(&method, NULL, NULL));
	PyErr_SetString(PyExc_ImportError, "resumed");
	return NULL;
}
