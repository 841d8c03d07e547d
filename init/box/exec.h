/* What the parts of exec.c share; what others may use of an exec is in init.h. */
#ifndef EBB_EXEC_H
#define EBB_EXEC_H

#include "init.h"

/* exec.c */
bool exec_control(struct exec *exec, int operation, int fd, enum exec_source source, uint32_t events);
bool exec_watch(struct exec *exec, int fd, enum exec_source source);
void exec_unwatch(struct exec *exec, int *fd); /* and closes it */
void exec_release(struct exec *exec);          /* all that it holds, except its ENDED message */
void exec_finish(struct exec *exec);           /* all has ended, unless it is stuck */

/* exec_start.c */
void exec_hear_start(struct exec *exec); /* whether it became the command */
void exec_pass_signals(struct exec *exec);

/* exec_output.c */
char *exec_buffered(const struct exec *exec, const struct stream *stream); /* its beginning */
void exec_heed_pipes(struct exec *exec, uint32_t events);
void exec_drain(struct exec *exec);
void exec_begin_segment(struct exec *exec);
void exec_attend_output(struct exec *exec, enum exec_source source);

/* exec_report.c */
void exec_list(struct exec *exec); /* lists the workspace, which is sent before its end */

#endif
