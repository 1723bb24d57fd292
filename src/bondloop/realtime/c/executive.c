#define _GNU_SOURCE
#include "executive.h"

#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "guard.h"
#include "words.h"

#define LEAD 2 /* cycles that the tick's own interlock may take beyond the configured retreat */

volatile int bl_telemetry_lost = 0;

static double *room(long count)
{
    return calloc((size_t)count + 1, sizeof(double));
}

/* How old what we know of the rig is, by the clock: ns without news, or ns for which the oldest command that no
   measurement answers has been waiting, whichever is more. Ticks would not do: a loop that is held up counts few. */
static int64_t age_ns(const bl_run *run)
{
    const int64_t silence = run->began - run->news;
    int64_t unanswered = run->segment->link.age;
    if (unanswered > run->given)
        unanswered = run->given;
    if (unanswered <= 0)
        return silence;
    const int64_t wait = unanswered > BL_SENT ? unanswered*run->segment->period_ns
                                              : run->began - run->sent[(run->given - unanswered)%BL_SENT];
    return silence > wait ? silence : wait;
}

void bl_judge_link(bl_run *run, int came)
{
    bl_segment *s = run->segment;
    bl_guard_fault(run);
    if (run->wire->stopped) /* before all else: what the sensors of a rig without power show is another matter */
        bl_guard_halt(run);
    s->counts.stale += came != BL_LINK_FRESH;
    if (came == BL_LINK_FRESH) {
        run->flags |= BL_FLAG_FRESH;
        run->news = run->began;
        bl_guard_measured(run);
    }
    const int64_t stale = run->options->stale, period = s->period_ns;
    const int64_t age = age_ns(run);
    if (came == BL_LINK_LOST || age >= stale*period + period/2) /* to the nearest tick */
        bl_guard_trip(run, BL_CAUSE_LINK_LOST, (uint64_t)((age + period/2)/period), (double)age*1e-9, 1);
}

/* One tick on a state, into the channels. */
static void tick_on(bl_run *run, double *state)
{
    const bl_interface *tick = run->tick;
    const bl_options *o = run->options;
    if (tick->tables > 0) {
        const int64_t row = run->step < o->table_rows ? run->step : o->table_rows - 1;
        memcpy(run->in, o->table + row*tick->tables, sizeof(double)*(size_t)tick->tables);
    }
    for (long i = 0; i < tick->measured; ++i)
        run->in[tick->measured_at[i]] = run->measured[i];
    const double k = (double)run->step;
    run->status = (uint32_t)tick->tick_once(state, run->parameters, run->in, k*tick->period, k, run->channels);
}

/* The first tick as it would be now, on a copy of the state. */
static void try_first_tick(bl_run *run)
{
    memcpy(run->copy, run->state, sizeof(double)*(size_t)run->tick->states);
    tick_on(run, run->copy);
}

/* Before anything is commanded, with an approach or without: whether the rig stands where the test begins. */
static int meet(bl_run *run)
{
    run->met = 1;
    try_first_tick(run);
    return bl_guard_place(run);
}

/* A cycle before the first tick, which says where to go, and whether all is well. */
static void approach(bl_run *run)
{
    try_first_tick(run);
    if (bl_guard_tick(run))
        bl_guard_approach(run);
}

static void execute(bl_run *run)
{
    const bl_interface *tick = run->tick;
    run->commanded = 1;
    tick_on(run, run->state);
    if (bl_guard_tick(run) && (run->step > 0 || bl_guard_first(run)))
        for (long i = 0; i < tick->commands; ++i)
            run->commands[i] = run->channels[tick->command_at[i]];
    run->step += 1;
    run->segment->counts.steps += 1;
}

/* Decides what the rig is given in this cycle; the number of the tick that was executed, or -1. */
int64_t bl_compute(bl_run *run)
{
    const bl_options *o = run->options;
    if (run->stage == BL_ACTIVE && o->steps > 0 && run->step >= o->steps)
        bl_guard_ramp(run);
    if (run->stage == BL_RETREAT && run->by_tick && ++run->retreated > o->retreat_cycles + LEAD) {
        if (bl_guard_is_safe(run))
            run->stage = BL_SAFE;
        else
            bl_guard_ramp(run);
    }
    if (run->stage == BL_ACTIVE && !run->met && !meet(run))
        return -1;
    if (run->stage == BL_ACTIVE && run->approach > 0) {
        approach(run);
        return -1;
    }
    if (run->stage == BL_ACTIVE || (run->stage == BL_RETREAT && run->by_tick)) {
        execute(run);
        return run->step - 1;
    }
    const int leads = run->stage == BL_RETREAT; /* or it follows, where the rig was stopped */
    if ((run->halted && bl_guard_follow(run)) || (!run->halted && leads && bl_guard_retreat(run)))
        run->stage = BL_SAFE;
    for (long i = 0; i < run->tick->measured; ++i)
        if (run->tick->measured_channel[i] >= 0)
            run->channels[run->tick->measured_channel[i]] = run->measured[i];
    return -1;
}

static int32_t narrow(int64_t ns)
{
    return ns > INT32_MAX ? INT32_MAX : ns < INT32_MIN ? INT32_MIN : (int32_t)ns;
}

static void record(bl_run *run, int64_t step, int64_t began, int64_t wake, int64_t busy, int64_t exchange)
{
    bl_segment *s = run->segment;
    const bl_slot now = {.sequence = 0, .cycle = run->cycle, .step = step, .time_ns = began, .wake_ns = narrow(wake),
        .busy_ns = narrow(busy), .exchange_ns = narrow(exchange), .age = narrow(s->link.age), .state = run->stage,
        .cause = (int32_t)s->cause, .flags = run->flags, .status = run->status};
    bl_slot *slot = bl_segment_begin(s);
    bl_words_put(slot, &now, sizeof now/8);
    double *channels = (double *)(slot + 1);
    bl_words_put(channels, run->channels, (size_t)run->tick->channels);
    for (long i = 0; i < run->tick->commands; ++i)
        bl_words_put(&channels[run->tick->command_at[i]], &run->commands[i], 1);
    bl_segment_publish(s, slot);
    bl_histogram_add(&s->wake, wake);
    bl_histogram_add(&s->busy, busy);
    bl_histogram_add(&s->exchange, exchange);
    s->counts.cycles += 1;
    __atomic_store_n(&s->armed, (uint64_t)run->armed, __ATOMIC_RELAXED);
    __atomic_store_n(&s->step, run->step, __ATOMIC_RELAXED);
    __atomic_store_n(&s->heartbeat_ns, began, __ATOMIC_RELAXED);
    bl_note_changes(run);
    __atomic_store_n(&s->state, (uint64_t)run->stage, __ATOMIC_RELEASE);
}

/* Sends the commands, where the rig is to be commanded; what the next cycle knows of the link in lock-step. It is
   enabled up to the first safe command, which it must still obey; `was` is the stage in which the cycle began. */
int bl_give(bl_run *run, const bl_link *link, int came, int was)
{
    bl_segment *s = run->segment;
    const int silent = run->stage == BL_INACTIVE || !run->commanded;
    const int enabled = !silent && !run->halted && !run->silenced && !(run->stage == BL_SAFE && was == BL_SAFE);
    run->wire->enable = enabled ? BL_ENABLE | (run->cycle & 1 ? BL_BEAT : 0) : 0;
    run->flags |= enabled ? BL_FLAG_ENABLED : 0;
    if (!silent)
        run->sent[run->given++%BL_SENT] = run->began;
    if (run->options->lock_step && !silent)
        return came == BL_LINK_LOST ? came : link->exchange(run->commands, run->incoming, &s->link);
    run->flags |= silent ? BL_FLAG_SILENT : 0;
    const int lost = link->exchange(silent ? NULL : run->commands, NULL, &s->link) == BL_LINK_LOST;
    bl_guard_fault(run); /* the controller's own words, where it has some, come before a lost link */
    if (lost)
        bl_guard_trip(run, BL_CAUSE_LINK_LOST, 0, 0, 1);
    return came;
}

/* Whether the rig is being moved, or might be: what is late or missed at other times harms nobody, and is not counted. */
static int moves(const bl_run *run)
{
    return run->stage == BL_ACTIVE || run->stage == BL_RETREAT;
}

/* A cycle that ended, or even began, after its deadline. */
void bl_overrun(bl_run *run, int is_late)
{
    if (!is_late) {
        run->late = 0;
        return;
    }
    run->late += 1;
    if (!moves(run))
        return;
    run->flags |= BL_FLAG_OVERRUN;
    run->segment->counts.overruns += 1;
    if (run->options->overrun_limit > 0 && run->late >= run->options->overrun_limit)
        bl_guard_trip(run, BL_CAUSE_OVERRUN, (uint64_t)run->late, 0, 1);
}

static void run_cycles(bl_run *run, const bl_link *link, double *last)
{
    const bl_options *o = run->options;
    bl_segment *s = run->segment;
    const int64_t period = s->period_ns;
    const int64_t spin = o->spin_ns < period/2 ? o->spin_ns : period/2;
    const int clocked = !o->lock_step && !o->hot;
    int came = BL_LINK_FRESH; /* lock-step: what the last exchange brought; at first, what `open` brought */
    int64_t planned = (bl_now() - o->phase_ns)/period*period + o->phase_ns + 2*period;
    for (run->cycle = 0; run->stage != BL_FINALIZED; ++run->cycle) {
        if (clocked)
            bl_sleep_until(planned, spin);
        const int64_t began = bl_now();
        if (!clocked)
            planned = began;
        const int64_t wake = began - planned;
        const int64_t missed = wake/period;
        const int stood_still = clocked && wake > o->gap_ns;
        run->began = began;
        run->flags = run->status = 0;
        const int stage = run->stage;
        if (stood_still) {
            bl_guard_stood_still(run, wake, 1);
            run->news += wake; /* nobody listened: that is no silence of the rig's */
        }
        if (missed > o->catch_up || run->stage != BL_ACTIVE) { /* else the ticks that are due follow at once */
            planned += missed*period;
            s->counts.missed += moves(run) ? (uint64_t)missed : 0;
        }
        bl_listen(run, began);
        int64_t received = began;
        if (!o->lock_step) {
            came = link->exchange(NULL, run->incoming, &s->link);
            if (run->cycle == 0 && came == BL_LINK_OLD)
                came = BL_LINK_FRESH; /* what `open` brought: believed or not, as everything else */
            if (stood_still && came == BL_LINK_FRESH)
                came = BL_LINK_OLD; /* it came at some time during the pause */
            received = bl_now();
        }
        bl_judge_link(run, came);
        if (run->stage == BL_FINALIZED)
            break;
        memcpy(last, run->commands, sizeof(double)*(size_t)run->tick->commands);
        const int64_t step = bl_compute(run);
        const int64_t computed = bl_now();
        const int is_late = clocked && (missed > 0 || computed - planned > period);
        const int too_late = clocked && step >= 0 && computed - planned > period + o->gap_ns;
        if (too_late || (is_late && o->overrun == BL_OVERRUN_HOLD && step >= 0)) {
            memcpy(run->commands, last, sizeof(double)*(size_t)run->tick->commands);
            run->flags |= BL_FLAG_HELD;
            s->counts.held += 1;
        }
        if (too_late) /* the tick is ahead of what was sent: the ramp begins at the latter */
            bl_guard_stood_still(run, computed - planned - period, 0);
        bl_guard_outputs(run, last);
        came = bl_give(run, link, came, stage);
        const int64_t sent = bl_now();
        bl_overrun(run, is_late || (clocked && sent - planned > period));
        record(run, step, began, wake, sent - began, received - began + sent - computed);
        const int stays = run->parked || (o->hold && s->cause != BL_CAUSE_NONE);
        if (run->stage == BL_SAFE && stage == BL_SAFE && (run->ending || !stays))
            run->stage = BL_FINALIZED; /* the rig has been given the safe command at least once, if ever any */
        if (o->lock_step && run->stage == BL_INACTIVE)
            bl_sleep_until(sent + 1000000, 0);
        planned += period;
    }
    bl_note_changes(run);
    __atomic_store_n(&s->state, (uint64_t)BL_FINALIZED, __ATOMIC_RELEASE);
}

int bl_execute(const bl_interface *tick, const bl_link *link, bl_link_config *wire, bl_segment *segment,
    const bl_options *options, double *measured)
{
    bl_run run = {.tick = tick, .options = options, .segment = segment, .wire = wire, .measured = measured,
        .state = room(tick->states), .parameters = room(tick->parameters), .in = room(tick->inputs),
        .channels = room(tick->channels), .incoming = room(tick->measured), .commands = room(tick->commands),
        .from = room(tick->commands), .copy = room(tick->states)};
    double *last = room(tick->commands); /* commands of the cycle before */
    if (!last || !run.copy || !run.state || !run.parameters || !run.in || !run.channels || !run.incoming || !run.commands || !run.from)
        return BL_EXIT_USAGE;
    run.shown = (double *)((char *)segment + segment->parameters_at);
    memcpy(run.incoming, measured, sizeof(double)*(size_t)tick->measured);
    memset(measured, 0, sizeof(double)*(size_t)tick->measured); /* nothing is believed yet */
    run.began = bl_now();
    bl_begin(&run);
    if (options->start && !options->inactive)
        bl_start(&run);
    __atomic_store_n(&segment->state, (uint64_t)run.stage, __ATOMIC_RELEASE);
    run_cycles(&run, link, last);
    free(last);
    wire->enable = 0;
    wire->halted = run.halted || !run.commanded;
    return segment->cause == BL_CAUSE_NONE ? BL_EXIT_DONE : BL_EXIT_TRIPPED;
}
