/* What the generic C needs to know of a generated tick. Python writes one `interface.c` per program, with one
 * such table for each tick that is linked into it; all other files are the same for every test.
 */
#ifndef BL_INTERFACE_H
#define BL_INTERFACE_H

#include <stdint.h>

#include "finite.h"

/* Executes one tick in place and returns status bits: 0, or why its values cannot be trusted. */
typedef int (*bl_tick_once)(double *state, const double *parameters, const double *in, double t, double k,
    double *channels);

enum { BL_BEYOND = 1, BL_NOT_A_NUMBER = 2, BL_SINGULAR = 4, BL_UNCONVERGED = 8, BL_UNSETTLED = 16 };

/* What the test states of its interlock, for the self-test: written from the test, not from the tick that it judges.
   Indices; -1 where there is none. */
typedef struct {
    int cause;       /* of the trip; BL_CAUSE_OPERATOR: the way to safety itself */
    double most;     /* the limit; of that way, s */
    long parameter;  /* holds the limit, where it may be tightened */
    long held;       /* named state that follows it, where it may be so only slowly */
    long command, measured, velocity; /* that it judges; a power: force and velocity */
    long state, other;   /* named states: what the interlock keeps of it from tick to tick */
    long channel, share; /* of a tracking error: where the test wants the rig, and the switch before it */
} bl_stated;

typedef struct {
    const char *name;
    double period; /* s */
    bl_tick_once tick_once;
    long states, inputs, parameters, channels; /* doubles in each array */
    const double *initial;                     /* [states] */
    const double *parameter_values;            /* [parameters] */
    const char *const *parameter_names, *const *parameter_units; /* units in SI; "" where none is known */
    const double *parameter_least, *parameter_most; /* [parameters] what may be mailed; least > most: nothing */
    const int *parameter_nonzero;                   /* [parameters] 1 where 0 may not */
    const char *const *channel_names, *const *channel_units;
    const char *const *input_names, *const *input_units;
    const char *const *state_names, *const *state_units; /* [named_states]; delay lines and the like follow */
    long named_states;
    const char *metadata; /* JSON: names, units, period; copied into the telemetry segment */

    /* The signals that cross the link. In the computer's tick commands are channels and measured values are
       inputs; in the rig's tick it is the other way round. The signature is the CRC-32 of all their names. */
    long commands, measured;
    long judged;             /* measured values that the loop believes or not: the first; the rest is only recorded */
    const long *command_at;  /* [commands] index of each among the channels (loop) or inputs (rig) */
    const long *measured_at; /* [measured] index of each among the inputs (loop) or channels (rig) */
    uint32_t signature;

    /* Only in the computer's tick. */
    long tables;              /* tabulated signals: the first so many inputs */
    const char *const *command_names, *const *measured_names; /* [commands], [measured] */
    const double *safe;       /* [commands] what the rig gets in the safe state */
    const long *measured_channel; /* [measured] channel of the same name, or -1 */
    const double *channel_bound; /* [channels] largest allowed magnitude; infinity: none */
    const int *channel_cause;    /* [channels] cause of a trip when it is passed */
    long interlock_cause;     /* channel that is not zero once the tick itself has tripped, or -1 */
    long interlock_trip;      /* parameter that asks the tick to trip, or -1 */
    const bl_stated *stated;
    long stateds;
    int is_watched;           /* 1 where the test states an interlock */
    double memory;            /* of its power trip: what is left of it after a tick */
    int calls;                /* 1 where the tick calls a program that may keep what no array holds */
    /* How the rig is met before the first tick, for each command. */
    const long *place_measured; /* [commands] measured value that says where the rig is, or -1 */
    const long *place_channel;  /* [commands] channel that says where the test wants it, or -1 */
    const double *place_within; /* [commands] how far apart the two may be */
    const int *is_place;        /* [commands] 1 where the command is itself such a place */
    const double *command_rate; /* [commands] largest change a second on the way to the first tick; infinity: any */
} bl_interface;

/* The ticks of this program; NULL if it has none (a loop without a rig, a rig without a loop). */
extern const bl_interface *const bl_computer;
extern const bl_interface *const bl_rig;

#endif
