/* The executive: paces a tick, guards it, and brings the rig to its safe state. */
#ifndef BL_EXECUTIVE_H
#define BL_EXECUTIVE_H

#include "interface.h"
#include "link.h"
#include "platform.h"
#include "segment.h"

enum { BL_OVERRUN_COUNT, BL_OVERRUN_HOLD, BL_OVERRUN_TRIP };

typedef struct {
    int64_t steps;          /* ticks to execute; 0: until told to stop */
    int lock_step;          /* follow the link instead of the clock */
    int inactive;           /* never become active */
    int start;              /* become active at once, without waiting for the mailbox */
    int arm;                /* a START is obeyed only after an ARM */
    int64_t spin_ns;        /* awake before each cycle */
    int64_t phase_ns;       /* of the cycles behind multiples of the period of CLOCK_MONOTONIC */
    int overrun;            /* policy */
    int64_t overrun_limit;  /* trip at this many overruns in a row, whatever the policy; 0: never */
    int64_t catch_up;       /* after missing at most so many deadlines execute their ticks too, at once */
    int64_t gap_ns;         /* trip when the loop stood still for longer; there is no "never" */
    int64_t stale;          /* trip when the measurement is older than so many ticks; there is no "never" */
    int64_t frozen;         /* trip when it is the same to the bit for so many ticks; 0: never */
    int64_t supervisor_ns;  /* trip without its heartbeat for so long; 0: never */
    int64_t operator_ns;    /* trip without the heartbeat of an operator for so long, while active; 0: never */
    int64_t approach_cycles; /* from where the rig is to the first command; 0: the first tick commands at once */
    int64_t retreat_cycles; /* of the ramp to the safe command */
    int hot;                /* never sleep: for measuring what a cycle costs */
    int hold;               /* after a trip stay in the safe state until reset or stopped */
    const double *parameters; /* [parameters] of the tick, as it begins */
    const double *table;    /* tabulated signals, row by row */
    int64_t table_rows;
} bl_options;

/* For measurements: sleeps through so many periods doing nothing, into the histogram `wake`. */
void bl_bare(bl_segment *segment, const bl_options *options, int64_t cycles);
/* For measurements: ns that one tick takes by itself, executed so many times without a pause. */
double bl_tick_cost(const bl_interface *tick, const bl_options *options, int64_t steps);

/* 1 when another process has taken the memory of the segment away: see shelter.h. */
extern volatile int bl_telemetry_lost;

/* Runs the test to its end; the exit code of the process. */
int bl_execute(const bl_interface *tick, const bl_link *link, bl_link_config *wire, bl_segment *segment,
    const bl_options *options, double *measured);

enum { BL_EXIT_DONE = 0, BL_EXIT_USAGE = 1, BL_EXIT_LINK = 2, BL_EXIT_TRIPPED = 3, BL_EXIT_SELF_TEST = 4 };

#endif
