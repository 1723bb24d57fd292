#define _GNU_SOURCE
#include "guard.h"

#include <math.h>
#include <string.h>

#include "channels.h"

static void bl_stage(bl_run *run, int stage)
{
    run->stage = stage;
    __atomic_store_n(&run->segment->state, (uint64_t)stage, __ATOMIC_RELEASE);
}

#define PI 3.14159265358979323846

/* Cycles of a raised cosine from the last commands to the safe ones: as configured, or more where that would be faster
   than they may change. */
static int64_t way_back(const bl_run *run)
{
    const bl_interface *tick = run->tick;
    double cycles = (double)run->options->retreat_cycles;
    for (long i = 0; i < tick->commands; ++i)
        cycles = fmax(cycles,
            ceil(PI/2*fabs(run->commands[i] - tick->safe[i])/(tick->command_rate[i]*tick->period) - 1e-9));
    return (int64_t)fmin(cycles, 3600/tick->period); /* but for the longest way of all */
}

void bl_guard_ramp(bl_run *run)
{
    run->way = way_back(run);
    memcpy(run->from, run->commands, sizeof(double)*(size_t)run->tick->commands);
    run->by_tick = 0;
    run->retreated = 0;
    bl_stage(run, BL_RETREAT);
}

/* The tick's interlock begins its way at the last command of its own: it has none before its second tick, while the
   rig may have been led somewhere by the approach. */
static int knows_the_last_command(const bl_run *run)
{
    return run->step > 0 || run->options->approach_cycles == 0;
}

/* The first cause stays. */
static void note_cause(bl_run *run, int cause, uint64_t detail, double value)
{
    bl_segment *s = run->segment;
    if (s->cause != BL_CAUSE_NONE)
        return;
    s->cause_cycle = run->cycle;
    s->cause_step = run->step;
    s->cause_detail = detail;
    s->cause_value = value;
    __atomic_store_n(&s->cause, (uint64_t)cause, __ATOMIC_RELEASE);
}

void bl_guard_trip(bl_run *run, int cause, uint64_t detail, double value, int trusted)
{
    note_cause(run, cause, detail, value);
    if (run->stage == BL_INACTIVE || run->stage == BL_UNCONFIGURED) {
        bl_guard_ramp(run); /* over at once: it was commanded nothing in this run */
    } else if (run->stage == BL_ACTIVE && trusted && knows_the_last_command(run) && run->tick->interlock_trip >= 0) {
        run->parameters[run->tick->interlock_trip] = (double)cause;
        run->by_tick = 1;
        run->retreated = 0;
        bl_stage(run, BL_RETREAT);
    } else if (run->stage == BL_ACTIVE || (run->stage == BL_RETREAT && run->by_tick && !trusted)) {
        bl_guard_ramp(run);
    }
}

void bl_guard_halt(bl_run *run)
{
    run->flags |= BL_FLAG_STOPPED;
    if (run->halted || run->stage == BL_INACTIVE || (run->stage == BL_RETREAT && !run->commanded))
        return; /* nothing has been started: a start would find it pressed */
    run->halted = 1;
    if (run->stage == BL_SAFE)
        return;
    note_cause(run, BL_CAUSE_EMERGENCY_STOP, 0, 0);
    run->by_tick = 0;
    run->retreated = 0;
    bl_stage(run, BL_RETREAT);
}

void bl_guard_fault(bl_run *run)
{
    bl_segment *s = run->segment;
    if (run->wire->fault == 0)
        return;
    run->flags |= BL_FLAG_FAULT;
    if (run->stage == BL_INACTIVE || run->stage == BL_SAFE || (run->stage == BL_RETREAT && !run->commanded))
        return; /* nothing moves: a start would find it */
    if (s->cause == BL_CAUSE_NONE)
        memcpy(s->fault_words, run->wire->fault_words, sizeof s->fault_words);
    bl_guard_trip(run, BL_CAUSE_CONTROLLER_FAULT, (uint64_t)run->wire->fault, 0, 1);
}

/* A rig that has lost its power goes where its specimen pushes it. Its set point goes along, so that it does not jump
   when the power comes back: not on a ramp to the safe position, which it would be far from by then. A command that is
   no place (a force, a voltage) has its safe value at once, for the same reason. */
int bl_guard_follow(bl_run *run)
{
    const bl_interface *tick = run->tick;
    run->flags |= BL_FLAG_EXECUTIVE;
    for (long i = 0; i < tick->commands; ++i) {
        const long have = tick->place_measured[i];
        if (!tick->is_place[i])
            run->commands[i] = tick->safe[i];
        else if (have >= 0 && bl_is_finite(run->measured[have])) /* else nobody knows better than the last command */
            run->commands[i] = run->measured[have];
    }
    run->retreated += 1;
    return run->retreated >= run->options->retreat_cycles;
}

void bl_guard_stood_still(bl_run *run, int64_t pause_ns, int trusted)
{
    if (run->stage != BL_ACTIVE && run->stage != BL_RETREAT)
        return;
    run->silenced = 1;
    bl_guard_trip(run, BL_CAUSE_STOOD_STILL, 0, (double)pause_ns*1e-9, trusted);
}

void bl_guard_measured(bl_run *run)
{
    const bl_interface *tick = run->tick;
    const size_t bytes = sizeof(double)*(size_t)tick->measured, judged = sizeof(double)*(size_t)tick->judged;
    for (long i = 0; i < tick->judged; ++i) {
        const double x = run->incoming[i];
        if (bl_is_finite(x)) /* how large a number may be is for the limits of the test: the tick judges it at once */
            continue;
        run->flags |= BL_FLAG_REFUSED;
        run->segment->counts.refused += 1;
        /* A channel of the tick may be the cause, too: their numbers come first. */
        bl_guard_trip(run, BL_CAUSE_NOT_A_NUMBER, (uint64_t)(tick->channels + i), x, 1);
        return;
    }
    if (run->options->frozen > 0 && tick->judged > 0 && run->stage == BL_ACTIVE) {
        run->same = memcmp(run->measured, run->incoming, judged) == 0 ? run->same + 1 : 0;
        if (run->same >= run->options->frozen)
            bl_guard_trip(run, BL_CAUSE_STALE, 0, run->incoming[0], 1);
    }
    memcpy(run->measured, run->incoming, bytes);
}

int bl_guard_tick(bl_run *run)
{
    const bl_interface *tick = run->tick;
    for (long i = 0; i < tick->commands; ++i)
        if (!bl_is_finite(run->channels[tick->command_at[i]]))
            run->status |= BL_NOT_A_NUMBER;
    if (run->status == 0) {
        if (tick->interlock_cause >= 0 && run->stage == BL_ACTIVE) {
            const double cause = run->channels[tick->interlock_cause];
            if (cause != 0) {
                bl_guard_trip(run, (int)cause, 0, cause, 1);
                return run->by_tick;
            }
        }
        return 1;
    }
    int cause = BL_CAUSE_NOT_A_NUMBER;
    uint64_t detail = 0;
    for (long i = 0; i < tick->channels; ++i)
        if (!(fabs(run->channels[i]) <= tick->channel_bound[i] && bl_is_finite(run->channels[i]))) {
            cause = bl_is_finite(run->channels[i]) ? tick->channel_cause[i] : BL_CAUSE_NOT_A_NUMBER;
            detail = (uint64_t)i;
            break;
        }
    bl_guard_trip(run, cause, detail, run->channels[detail], 0);
    return 0;
}

/* The tick does not lead from here: its own way would begin at a command that was never given. */
static void trip_by_output(bl_run *run)
{
    if (run->segment->cause == BL_CAUSE_NONE)
        memcpy(run->segment->fault_words, run->wire->fault_words, sizeof run->segment->fault_words);
    run->flags |= BL_FLAG_FAULT;
    bl_guard_trip(run, BL_CAUSE_CONTROLLER_FAULT, BL_FAULT_OUTPUT, 0, 0);
}

void bl_guard_outputs(bl_run *run, const double *last)
{
    if (run->stage == BL_INACTIVE || !run->commanded || bl_channels_refuse(run->wire, run->commands) == 0)
        return;
    memcpy(run->commands, last, sizeof(double)*(size_t)run->tick->commands);
    run->commanded = run->given > run->given_before;
    trip_by_output(run);
}

int bl_guard_place(bl_run *run)
{
    const bl_interface *tick = run->tick;
    if (bl_channels_stand(run->wire, run->measured)) {
        trip_by_output(run);
        return 0;
    }
    for (long i = 0; i < tick->commands; ++i) {
        const long have = tick->place_measured[i], want = tick->place_channel[i];
        run->from[i] = have >= 0 && tick->is_place[i] ? run->measured[have] : tick->safe[i];
        const double apart = have >= 0 && want >= 0 ? run->measured[have] - run->channels[want] : 0.0;
        if (bl_is_finite(tick->place_within[i]) && !(fabs(apart) <= tick->place_within[i])) {
            bl_guard_trip(run, BL_CAUSE_START_POSITION, (uint64_t)i, apart, 0);
            return 0;
        }
    }
    return 1;
}

/* Whether each command would change within its rate from `before`, going `share` of the way from where the approach
   began to the first command. The tick's own interlock knows of no rate before its second tick. */
static int is_gentle(bl_run *run, const double *before, double share)
{
    const bl_interface *tick = run->tick;
    for (long i = 0; i < tick->commands; ++i) {
        const double next = (1.0 - share)*run->from[i] + share*run->channels[tick->command_at[i]];
        const double rate = fabs(next - before[i])/tick->period;
        if (rate > tick->command_rate[i]*(1.0 + 1e-9)) {
            bl_guard_trip(run, BL_CAUSE_COMMAND_RATE, (uint64_t)i, rate, 0);
            return 0;
        }
    }
    return 1;
}

void bl_guard_approach(bl_run *run)
{
    const bl_interface *tick = run->tick;
    const int64_t cycles = run->options->approach_cycles, left = run->approach - 1;
    const double share = 0.5*(1.0 + cos(PI*(double)left/(double)cycles));
    run->flags |= BL_FLAG_EXECUTIVE;
    if (!is_gentle(run, run->approach == cycles ? run->from : run->commands, share))
        return;
    run->approach = left;
    run->commanded = 1;
    for (long i = 0; i < tick->commands; ++i)
        run->commands[i] = (1.0 - share)*run->from[i] + share*run->channels[tick->command_at[i]];
}

int bl_guard_first(bl_run *run)
{
    return run->options->approach_cycles == 0 || is_gentle(run, run->commands, 1.0);
}

int bl_guard_is_safe(const bl_run *run)
{
    for (long i = 0; i < run->tick->commands; ++i)
        if (run->commands[i] != run->tick->safe[i])
            return 0;
    return 1;
}

int bl_guard_retreat(bl_run *run)
{
    const bl_interface *tick = run->tick;
    const int64_t cycles = run->way;
    run->flags |= BL_FLAG_EXECUTIVE;
    run->retreated += 1;
    if (run->retreated >= cycles || bl_guard_is_safe(run)) {
        memcpy(run->commands, tick->safe, sizeof(double)*(size_t)tick->commands);
        return 1;
    }
    const double share = 0.5*(1.0 + cos(PI*(double)run->retreated/(double)cycles));
    for (long i = 0; i < tick->commands; ++i)
        run->commands[i] = share*run->from[i] + (1.0 - share)*tick->safe[i];
    return 0;
}
