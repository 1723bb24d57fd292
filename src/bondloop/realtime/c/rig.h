/* An emulated rig in a process of its own. */
#ifndef BL_RIG_H
#define BL_RIG_H

#include "interface.h"
#include "port.h"

typedef struct {
    int64_t timeout_ns; /* a session without a sign of life for so long is over; in the second half the rig rests */
    int64_t spin_ns;
    int priority;       /* of SCHED_FIFO; only on the clock: in lock-step the rig never sleeps */
    int once;           /* end after the first session */
    long parent;        /* end when this is no longer the parent, but finish a session first; 0: never mind */
    int fault;          /* what the sensors show from measurement `fault_at` on */
    int64_t fault_at;
} bl_rig_options;

enum { BL_FAULT_NONE, BL_FAULT_NAN, BL_FAULT_INF, BL_FAULT_FROZEN, BL_FAULT_STOP };

/* Plays until the process is asked to end; 0, or 1 without memory. */
int bl_rig_play(
    const bl_interface *tick, const bl_port *port, bl_port_config *wire, const bl_rig_options *options);

/* Whether a loop of this period, in s, suits the rig that is played. */
int bl_rig_accepts(double period);

#endif
