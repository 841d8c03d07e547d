// ebb-init plays one of its roles, see init.h.
#include "init.h"

int main(int argc, char **argv)
{
	const char *role = argc > 1 ? argv[1] : "";
	if (strcmp(role, "outside") == 0)
		return outside(argc - 1, argv + 1);
	if (strcmp(role, "forkserver") == 0)
		return forkserver(argc - 1, argv + 1);
	if (strcmp(role, "template") == 0 && argc == 4)
		return template(atoi(argv[2]));
	if (strcmp(role, "inside") == 0 && argc == 5)
		return inside(atoi(argv[2]), atoi(argv[3]));
	if (strcmp(role, "preflight") == 0 && argc > 2)
		return preflight(argc - 1, argv + 1);
	if (strcmp(role, "discard") == 0)
		return discard();
	if (strcmp(role, "supervise") == 0 && argc > 3)
		return supervise(argc - 1, argv + 1);
	fputs("ebb-init is started by the engine of Ebb\n", stderr);
	return 2;
}
