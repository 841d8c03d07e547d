/* What the parts of files.c share. An operation gives an errno, or 0. */
#ifndef EBB_FILES_H
#define EBB_FILES_H

#include <dirent.h>

#include "init.h"

#define CHUNK (64 * 1024)

/* A name, and the directory that it is in: if that is moved, we move along. */
struct place {
	int directory; /* O_PATH */
	const char *name;
};

/* files.c */
bool files_parse(const char *text, int base, uint64_t most, uint64_t *value);
bool files_is_kernel(int fd);
int files_find_place(char *path, struct place *place);
int files_make_parents(char *path);

/* files_list.c */
int files_stat(char **argv);
int files_list(char **argv);
void files_print(const struct stat *status, const char *link, const char *name);
bool files_is_dots(const char *name);
DIR *files_open_directory(int directory, const char *path, int flags);

/* files_write.c */
int files_write(char **argv);

/* files_remove.c */
int files_remove(char **argv);
int files_remove_tree(char **argv);

#endif
