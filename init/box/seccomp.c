// The filters under which every command runs: all is allowed but what these tables deny.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "init.h"

#if defined __x86_64__
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the filter is not written for this architecture"
#endif
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arguments are read by their low half");

// Newer than the headers of Debian 12; these numbers are the same on all architectures.
#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452
#endif
#ifndef __NR_open_tree_attr
#define __NR_open_tree_attr 467
#endif

#define X32_BIT 0x40000000u
#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
#define INIT 1
#define SET_ID (S_ISUID | S_ISGID)
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* A condition on one half of an argument. A rule denies when all of its conditions hold. */
struct condition {
	enum { HOLDS, EQUALS, DIFFERS, HAS_ANY } test;
	unsigned argument;
	uint32_t value;
};

#define UPPER(argument) ((argument) | 8) /* its upper half, which only a pointer needs */

#define CONDITIONS_MAX 4

struct rule {
	uint32_t call;
	uint16_t error;
	struct condition conditions[CONDITIONS_MAX];
};

#define DENY(name) {__NR_##name, EPERM, {{0}}}
#define DENY_IF(name, ...) {__NR_##name, EPERM, {__VA_ARGS__}}
#define ABSENT(name) {__NR_##name, ENOSYS, {{0}}}
#define IGNORE_IF(name, ...) {__NR_##name, 0, {__VA_ARGS__}} /* success, and nothing is done */
#define NO_FAMILY_IF(name, ...) {__NR_##name, EAFNOSUPPORT, {__VA_ARGS__}}
#define NO_PROTOCOL_IF(...) {__NR_socket, EPROTONOSUPPORT, {__VA_ARGS__}}

/* For init, too: what it has taken on its commands need not. */
static const struct rule rules[] = {
	// Its flags are behind a pointer, where a filter cannot look. libc has other ways.
	ABSENT(openat2),

	// Families and protocols that are not namespaced, or load modules. Netlink: only to list
	// interfaces. A pair is made before the kernel finds that its family has none.
	NO_FAMILY_IF(socket, {DIFFERS, 0, AF_UNIX}, {DIFFERS, 0, AF_INET}, {DIFFERS, 0, AF_INET6},
	             {DIFFERS, 0, AF_NETLINK}),
	NO_FAMILY_IF(socket, {EQUALS, 0, AF_NETLINK}, {DIFFERS, 2, NETLINK_ROUTE}),
	NO_FAMILY_IF(socketpair, {DIFFERS, 0, AF_UNIX}),
	// KERNEL: of AF_INET the type SOCK_PACKET, 10, is another name of AF_PACKET. No other type
	// has both of its bits.
	NO_FAMILY_IF(socket, {HAS_ANY, 1, 8}, {HAS_ANY, 1, 2}),
	NO_PROTOCOL_IF({DIFFERS, 2, 0}, {DIFFERS, 2, IPPROTO_ICMP}, {DIFFERS, 2, IPPROTO_TCP},
	               {DIFFERS, 2, IPPROTO_UDP}),

	// A writable mount must not receive a set-user-id file.
	DENY_IF(fchmod, {HAS_ANY, 1, SET_ID}),
	DENY_IF(fchmodat, {HAS_ANY, 2, SET_ID}),
	DENY_IF(fchmodat2, {HAS_ANY, 2, SET_ID}),
	DENY_IF(mknodat, {HAS_ANY, 2, SET_ID}),
	DENY_IF(openat, {HAS_ANY, 2, CREATES}, {HAS_ANY, 3, SET_ID}),

	// Namespaces, mounts and file systems.
	DENY_IF(clone, {HAS_ANY, 0, NAMESPACES}),
	DENY_IF(unshare, {HAS_ANY, 0, NAMESPACES | CLONE_NEWTIME}),
	DENY(setns), DENY(mount), DENY(umount2), DENY(pivot_root), DENY(chroot),
	DENY(open_tree), DENY(open_tree_attr), DENY(move_mount), DENY(mount_setattr),
	DENY(fsopen), DENY(fsconfig), DENY(fsmount), DENY(fspick),
	DENY(open_by_handle_at), DENY(fanotify_init), DENY(swapon), DENY(swapoff),
	DENY(quotactl), DENY(quotactl_fd), DENY(acct), DENY(lookup_dcookie), DENY(nfsservctl),

	// Other processes and their terminals.
	DENY(ptrace), DENY(process_vm_readv), DENY(process_vm_writev), DENY(process_madvise),
	DENY(pidfd_getfd), DENY(kcmp), DENY(vhangup),
	DENY_IF(ioctl, {EQUALS, 1, TIOCSTI}),
	DENY_IF(ioctl, {EQUALS, 1, TIOCLINUX}),
	DENY_IF(ioctl, {EQUALS, 1, TIOCSETD}),

	// Init has our uid, so its turns would be ours to set: it could not keep a deadline.
	DENY_IF(sched_setscheduler, {EQUALS, 0, INIT}), DENY_IF(sched_setparam, {EQUALS, 0, INIT}),
	DENY_IF(sched_setattr, {EQUALS, 0, INIT}), DENY_IF(sched_setaffinity, {EQUALS, 0, INIT}),
	DENY_IF(setpriority, {EQUALS, 1, INIT}), DENY_IF(setpriority, {EQUALS, 0, PRIO_USER}),
	DENY_IF(ioprio_set, {EQUALS, 1, INIT}), DENY_IF(ioprio_set, {EQUALS, 0, IOPRIO_WHO_USER}),

	// Lowered from 1 to 0, the limit would have the host's handler of cores run, as root. A
	// program that wants no cores has none as it is.
	IGNORE_IF(setrlimit, {EQUALS, 0, RLIMIT_CORE}),
	IGNORE_IF(prlimit64, {EQUALS, 1, RLIMIT_CORE}, {DIFFERS, 2, 0}),
	IGNORE_IF(prlimit64, {EQUALS, 1, RLIMIT_CORE}, {DIFFERS, UPPER(2), 0}),

	// Deep parts of the kernel that a command does not need.
	DENY(io_uring_setup), DENY(io_uring_enter), DENY(io_uring_register), DENY(bpf),
	DENY(perf_event_open), DENY(userfaultfd), DENY(keyctl), DENY(add_key), DENY(request_key),
	DENY_IF(personality, {DIFFERS, 0, PER_LINUX}, {DIFFERS, 0, PER_LINUX32}, {DIFFERS, 0, ~0u}),

	// The machine and its clock.
	DENY(kexec_load), DENY(kexec_file_load), DENY(init_module), DENY(finit_module),
	DENY(delete_module), DENY(reboot), DENY(syslog),
	DENY(settimeofday), DENY(clock_settime), DENY(clock_adjtime), DENY(adjtimex),

#ifdef __x86_64__ // calls that younger architectures never had
	DENY_IF(chmod, {HAS_ANY, 1, SET_ID}),
	DENY_IF(mknod, {HAS_ANY, 1, SET_ID}),
	DENY_IF(creat, {HAS_ANY, 1, SET_ID}),
	DENY_IF(open, {HAS_ANY, 1, CREATES}, {HAS_ANY, 2, SET_ID}),
	DENY(iopl), DENY(ioperm), DENY(modify_ldt),
#endif
};

/* What init itself does, and no command may. */
static const struct rule rules_of_commands[] = {
	ABSENT(clone3), // as openat2
	// Init has our uid, so its limits would be ours to set: it could not open a log.
	DENY_IF(prlimit64, {DIFFERS, 0, 0}),
};

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define PROGRAM_MAX (8 + COUNT(rules) * (5 + 2 * CONDITIONS_MAX))
#define CHAIN_MAX 8 /* rules that are looked at one after the other */

struct program {
	unsigned short length;
	struct sock_filter code[PROGRAM_MAX];
};

static struct program of_all, of_commands;
static struct program *program; // the one that is built

static void emit(struct sock_filter instruction)
{
	program->code[program->length++] = instruction;
}

static void load(size_t offset)
{
	emit((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void give(uint32_t action)
{
	emit((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void jump(int test, uint32_t value, int if_so, int if_not)
{
	emit((struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, if_so, if_not));
}

static void check_abi(void)
{
	load(offsetof(struct seccomp_data, arch));
	jump(BPF_JEQ, OUR_ARCH, 1, 0);
	give(SECCOMP_RET_KILL_PROCESS);
	load(offsetof(struct seccomp_data, nr));
	jump(BPF_JGE, X32_BIT, 0, 1);
	give(SECCOMP_RET_ERRNO | ENOSYS);
}

static int length_of(const struct rule *rule)
{
	int length = 1;
	for (int i = 0; i < CONDITIONS_MAX; i++)
		length += rule->conditions[i].test == HOLDS ? 0 : 2;
	return length;
}

/* A block that ends in a denial; what does not match jumps behind it. */
static void add_conditions(const struct rule *rule)
{
	int left = length_of(rule); // instructions of the block from here on
	for (const struct condition *c = rule->conditions; left > 1; c++) {
		left -= 2;
		load(offsetof(struct seccomp_data, args[c->argument & 7]) +
		     (c->argument & UPPER(0) ? sizeof(uint32_t) : 0));
		if (c->test == DIFFERS)
			jump(BPF_JEQ, c->value, left, 0);
		else
			jump(c->test == EQUALS ? BPF_JEQ : BPF_JSET, c->value, 0, left);
	}
	give(SECCOMP_RET_ERRNO | rule->error);
}

/* How many of the rules, which are sorted, are for the call of the first. */
static size_t same_call(const struct rule *const *first, size_t count)
{
	size_t same = 1;
	while (same < count && first[same]->call == first[0]->call)
		same++;
	return same;
}

/* What follows from a call, for each call; the number stays loaded until one is found. */
static void add_chain(const struct rule *const *first, size_t count)
{
	while (count > 0) {
		size_t same = same_call(first, count);
		int length = 1;
		for (size_t i = 0; i < same; i++)
			length += length_of(first[i]);
		bool is_denied = length_of(first[0]) == 1;
		jump(BPF_JEQ, first[0]->call, 0, is_denied ? 1 : length);
		for (size_t i = 0; i < (is_denied ? 1 : same); i++)
			add_conditions(first[i]);
		if (!is_denied)
			give(SECCOMP_RET_ALLOW);
		first += same;
		count -= same;
	}
	give(SECCOMP_RET_ALLOW);
}

/*
 * KERNEL: a new filter is tried on every system call number, with interrupts off.
 * So it is a tree. False: it has outgrown the jumps.
 */
static bool add_tree(const struct rule *const *first, size_t count)
{
	size_t middle = count / 2;
	while (middle > 0 && first[middle - 1]->call == first[middle]->call)
		middle--;
	if (count <= CHAIN_MAX || middle == 0) {
		add_chain(first, count);
		return true;
	}
	unsigned short node = program->length;
	jump(BPF_JGE, first[middle]->call, 0, 0);
	bool is_built = add_tree(first, middle);
	int left = program->length - node - 1;
	program->code[node].jt = left;
	return is_built && left <= UINT8_MAX && add_tree(first + middle, count - middle);
}

static bool build(struct program *into, const struct rule *table, size_t count)
{
	const struct rule *sorted[COUNT(rules)];
	program = into;
	for (size_t i = 0; i < count; i++) {
		size_t place = i;
		for (; place > 0 && sorted[place - 1]->call > table[i].call; place--)
			sorted[place] = sorted[place - 1];
		sorted[place] = &table[i];
	}
	check_abi();
	return add_tree(sorted, count);
}

bool seccomp_build(void)
{
	return of_all.length > 0 || // by the forkserver
	       (build(&of_all, rules, COUNT(rules)) &&
	        build(&of_commands, rules_of_commands, COUNT(rules_of_commands)));
}

static bool take_on(const struct program *taken)
{
	struct sock_fprog filter = {taken->length, (struct sock_filter *)taken->code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

bool seccomp_restrict_init(void)
{
	return take_on(&of_all);
}

/* KERNEL: of two filters that deny a call, the younger determines how. */
bool seccomp_restrict_command(void)
{
	return take_on(&of_commands);
}
