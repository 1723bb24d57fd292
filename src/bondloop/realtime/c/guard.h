/* What a running loop keeps, and the guard over it: what is let in of what is measured, trips, the way to safety. */
#ifndef BL_GUARD_H
#define BL_GUARD_H

#include "executive.h"

#define BL_SENT 1024 /* commands whose instants are kept */

typedef struct {
    const bl_interface *tick;
    const bl_options *options;
    bl_segment *segment;
    bl_link_config *wire; /* of the link: the emergency stop comes in by it, the enable goes out */
    double *state, *parameters, *in, *channels;
    double *measured, *incoming; /* the last values believed, and those just received */
    double *commands, *from;     /* what the rig is given, and where the ramp to safety, or the approach, began */
    double *copy;                /* of the state: the first tick, looked at before it is executed */
    int64_t approach;            /* cycles of the approach that are left */
    int stage;                   /* of the lifecycle */
    int met;                     /* where the rig stands has been compared with where the test begins */
    int commanded;               /* the rig has been commanded something in this run */
    int by_tick;                 /* the tick's own interlock leads the retreat */
    int silenced;                /* it stood still: who watches the beat has cut the power, which must not come back */
    int halted;                  /* by the emergency stop: the commands follow the rig, which is not enabled */
    int64_t cycle, step, retreated; /* `retreated`: cycles since the retreat began */
    int64_t way;                    /* cycles of the executive's own ramp */
    int64_t same, late; /* cycles in a row with the same news, after the deadline */
    int64_t began, news; /* instants: when this cycle began, and the last one that brought a new measurement */
    int64_t given, given_before; /* commands sent, ever, and up to the beginning of this run */
    int64_t sent[BL_SENT]; /* when the cycle began that sent each, by number */
    uint64_t requests[BL_REQUESTS]; /* counts that were heard */
    int mail_looks; /* at a command that makes no sense */
    bl_mail batch[BL_BATCH]; /* values that are set together, as far as they have come */
    int batched;
    double *shown;       /* the parameters, in the segment */
    int parked;          /* sent to the safe state by the operator: it stays there until reset or stopped */
    int ending;          /* stopped by the operator: it ends in the safe state, whatever led there */
    int armed;
    int64_t started;     /* instant of the start */
    int logged_stage;    /* state and cause that the log tells of */
    uint64_t logged_cause;
    uint32_t flags, status;
} bl_run;

/* Records a cause, unless there is one already, and begins the retreat. `trusted`: the tick may lead it. */
void bl_guard_trip(bl_run *run, int cause, uint64_t detail, double value, int trusted);
/* Trips because of a pause of so long, where the rig is being commanded: `trusted` as above. */
void bl_guard_stood_still(bl_run *run, int64_t pause_ns, int trusted);
/* The emergency stop is pressed: trips, unless nothing has been started, and lets go of the rig. */
void bl_guard_halt(bl_run *run);
/* Trips where the rig's controller reports a fault, unless nothing has been started: a start would find it. */
void bl_guard_fault(bl_run *run);
/* One cycle after that: the commands are where the rig is; 1 when it has had the time of a retreat to come to rest. */
int bl_guard_follow(bl_run *run);
/* Begins the executive's own ramp, without a trip. */
void bl_guard_ramp(bl_run *run);
/* Believes what was received, or trips. */
void bl_guard_measured(bl_run *run);
/* Before the first command, with the first tick as it would be now in the channels: notes where the rig stands, and
   trips where that is elsewhere than the test begins; 1 if all is well. */
int bl_guard_place(bl_run *run);
/* Commands that the outputs cannot give do not go out: those before them stay, `last`, and the executive leads from there;
   where none has gone out yet, none does, and the rig is never enabled. */
void bl_guard_outputs(bl_run *run, const double *last);
/* One cycle of the way from there to the first command, that of the tick in the channels: sets the commands, or trips
   where they would change faster than they may. */
void bl_guard_approach(bl_run *run);
/* Judges the commands of the first tick against the end of that way: 1 if they may be sent. */
int bl_guard_first(bl_run *run);
/* Judges a tick that was executed: 1 if its commands may be sent. */
int bl_guard_tick(bl_run *run);
/* One cycle of the executive's ramp: sets the commands; 1 when the safe ones are reached. */
int bl_guard_retreat(bl_run *run);
int bl_guard_is_safe(const bl_run *run);

/* The parts of a cycle, in executive.c: here for the self-test, which puts them together without a clock. */
void bl_judge_link(bl_run *run, int came);
int64_t bl_compute(bl_run *run);
int bl_give(bl_run *run, const bl_link *link, int came, int was);
void bl_overrun(bl_run *run, int is_late);

#endif
