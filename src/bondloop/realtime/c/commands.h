/* What a loop is told from outside, and the log of it. */
#ifndef BL_COMMANDS_H
#define BL_COMMANDS_H

#include "guard.h"

/* To the beginning of a run, as at the start of the process: state, parameters, causes. */
void bl_begin(bl_run *run);
/* Makes the loop active. */
void bl_start(bl_run *run);
/* Hears signals, the mailbox, the heartbeats of supervisor and operator: a bounded number of commands. */
void bl_listen(bl_run *run, int64_t now);
/* Logs state and cause, where they have changed since the log told of them. */
void bl_note_changes(bl_run *run);

#endif
