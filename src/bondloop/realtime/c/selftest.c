#define _GNU_SOURCE
#include "selftest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channels.h"
#include "commands.h"
#include "guard.h"

enum { BL_CAUSE_COMMAND = 4, BL_CAUSE_TRACKING_ERROR, BL_CAUSE_POWER };

#define INSIDE (1.0 - 1e-6) /* of a limit that is reached by way of a computed value */
#define BEYOND (1.0 + 1e-6)
#define MOST_TRIALS 2000 /* ticks that looking for the limit of a command may take */
#define LONGEST 100000000 /* ns after which no more is looked for: the rig at the other end is waiting */

static bl_run now, *const run = &now;
static bl_options set;
static bl_link_config wire;
static bl_segment *segment;
static double *known, *rest, *snapshot, *given; /* parameters and measured values to begin with; state and commands then */

/* The outcome. */
static long cases, failures;
static char first[320], left_out[1024];

static void check(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void check(int holds, const char *format, ...)
{
    cases += 1;
    if (holds || failures++ > 0)
        return;
    va_list rest_of;
    va_start(rest_of, format);
    vsnprintf(first, sizeof first, format, rest_of);
    va_end(rest_of);
}

const char *bl_self_test_failure(void)
{
    return first;
}

static void leave_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void leave_out(const char *format, ...)
{
    const size_t used = strlen(left_out);
    if (used > sizeof left_out - 160)
        return;
    va_list rest_of;
    va_start(rest_of, format);
    if (used > 0)
        strcpy(left_out + used, "; ");
    vsnprintf(left_out + strlen(left_out), sizeof left_out - strlen(left_out), format, rest_of);
    va_end(rest_of);
}

/* A tick whose numbers are known, for what is the same in every test. No bound of it is one, and no two are the same. */

enum { PLACE, PUSH };            /* its commands: a position, a force */
enum { DESIRED = 2, CAUSE = 3 }; /* of its channels, of which the first are the commands and the last two measured */
enum { TRIP, TUNABLE, NONZERO, FIXED };

static struct {
    double commands[2], desired, cause;
    int status, answer, sent, heard;
    long fault;
} script;

static int scripted_tick(double *state, const double *parameters, const double *in, double t, double k, double *channels)
{
    state[0] += t + k;
    memcpy(channels, script.commands, sizeof script.commands);
    channels[DESIRED] = script.desired;
    channels[CAUSE] = parameters[TRIP] != 0.0 ? parameters[TRIP] : script.cause;
    channels[4] = in[0];
    channels[5] = in[1];
    return script.status;
}

static int scripted_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    (void)counts;
    script.sent = commands != NULL;
    script.heard = measured != NULL;
    if (script.fault != 0)
        wire.fault = script.fault;
    return script.answer;
}

static const bl_link scripted_link = {.scheme = "self-test", .exchange = scripted_exchange};
static const double nothing[8];
static const double rates[] = {8.0, 40.0}, safe[] = {0.125, -0.75}, within[] = {0.03125, INFINITY};
static const bl_interface scripted = {.name = "self-test", .period = 1e-3, .tick_once = scripted_tick, .states = 1,
    .inputs = 3, .parameters = 4, .channels = 6, .initial = nothing, .parameter_values = (const double[]){0, 3, 2, 5},
    .parameter_least = (const double[]){0, -2.5, -1, 1}, .parameter_most = (const double[]){100, 7.5, 4, -1},
    .parameter_nonzero = (const int[]){0, 0, 1, 0}, .commands = 2, .measured = 3, .judged = 2,
    .command_at = (const long[]){0, 1}, .measured_at = (const long[]){0, 1, 2}, .safe = safe,
    .measured_channel = (const long[]){4, 5, -1},
    .channel_bound = (const double[]){INFINITY, INFINITY, 0.625, INFINITY, INFINITY, 40},
    .channel_cause = (const int[]){4, 4, 1, 7, 7, 3}, .interlock_cause = CAUSE, .interlock_trip = TRIP,
    .place_measured = (const long[]){0, -1}, .place_channel = (const long[]){DESIRED, -1}, .place_within = within,
    .is_place = (const int[]){1, 0}, .command_rate = rates};

#define PERIOD 1000000 /* ns */
#define INSTANT 1000000000000 /* ns; when a trial begins */

/* A run of the tick above, inactive; the options are as they are most often wanted. */
static void begin(const bl_interface *tick)
{
    double *const arrays[] = {run->state, run->parameters, run->in, run->channels, run->measured, run->incoming,
        run->commands, run->from, run->copy, run->shown};
    memset(run, 0, sizeof *run);
    run->state = arrays[0], run->parameters = arrays[1], run->in = arrays[2], run->channels = arrays[3];
    run->measured = arrays[4], run->incoming = arrays[5], run->commands = arrays[6], run->from = arrays[7];
    run->copy = arrays[8], run->shown = arrays[9];
    run->tick = tick;
    run->options = &set;
    run->segment = segment;
    run->wire = &wire;
    run->began = INSTANT;
    memset(segment->requests, 0, sizeof segment->requests);
    run->requests[BL_REQUEST_STOP] = (uint64_t)bl_asked_to_stop;
    memset(&segment->counts, 0, sizeof segment->counts);
    memset(&segment->link, 0, sizeof segment->link);
    segment->supervisor_ns = segment->operator_ns = 0;
    segment->mail_given = segment->mail_taken = 0;
    segment->period_ns = (int64_t)(tick->period*1e9 + 0.5);
    bl_begin(run);
}

static void inactive(void)
{
    static const double shows[] = {0.5, 20, 3};
    set = (bl_options){.stale = 5, .retreat_cycles = 6, .overrun_limit = 3, .gap_ns = PERIOD, .parameters = known};
    memset(&wire, 0, sizeof wire);
    memcpy(known, scripted.parameter_values, 4*sizeof *known);
    memset(&script, 0, sizeof script);
    script.answer = BL_LINK_FRESH;
    begin(&scripted);
    memcpy(run->measured, shows, sizeof shows);
    memcpy(run->incoming, shows, sizeof shows);
    script.commands[PLACE] = script.desired = 0.5;
    script.commands[PUSH] = -0.25;
}

static void active(void)
{
    inactive();
    bl_start(run);
    run->met = 1;
    run->step = 3;
    run->commanded = 1;
    run->given = 7;
    run->given_before = 2;
    run->same = 0;
    for (int i = 0; i < BL_SENT; ++i)
        run->sent[i] = run->began;
    memcpy(run->commands, script.commands, sizeof script.commands);
    memcpy(run->from, script.commands, sizeof script.commands);
}

static int is_tripped(int cause)
{
    return segment->cause == (uint64_t)cause && run->stage == BL_RETREAT;
}

static int are_commands(double place, double push)
{
    return run->commands[PLACE] == place && run->commands[PUSH] == push;
}

static void judge(int came)
{
    run->flags = run->status = 0;
    bl_judge_link(run, came);
}

static void try_measured(void)
{
    static const char *const words[] = {"NaN", "+infinity", "-infinity"};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j) {
            active();
            run->incoming[i] = bad[j];
            run->incoming[1 - i] = 0.375;
            judge(BL_LINK_FRESH);
            check(is_tripped(BL_CAUSE_NOT_A_NUMBER) && segment->cause_detail == (uint64_t)(6 + i)
                && run->flags & BL_FLAG_REFUSED && segment->counts.refused == 1,
                "%s in a measured value did not trip", words[j]);
            check(run->measured[0] == 0.5 && run->measured[1] == 20.0,
                "%s in a measured value: the last good values were not kept", words[j]);
            bl_compute(run);
            check(bl_is_finite(run->commands[PLACE]) && bl_is_finite(run->commands[PUSH]),
                "%s in a measured value: the command of that tick is no number", words[j]);
        }
    active();
    run->incoming[0] = -1e300;
    run->incoming[2] = NAN;
    judge(BL_LINK_FRESH);
    check(run->stage == BL_ACTIVE && run->measured[0] == -1e300 && bl_is_nan(run->measured[2]),
        "a measured value was refused that the tick is to judge, or that is only recorded");
    active();
    run->incoming[0] = NAN;
    judge(BL_LINK_OLD);
    check(run->stage == BL_ACTIVE && run->measured[0] == 0.5 && segment->counts.stale == 1,
        "a measured value was taken for a new one that is not");
}

static void try_frozen(void)
{
    for (int frozen = 0; frozen <= 2; frozen += 2) {
        active();
        set.frozen = frozen;
        judge(BL_LINK_FRESH);
        run->incoming[1] = 20.5;
        judge(BL_LINK_FRESH);
        judge(BL_LINK_FRESH);
        check(run->stage == BL_ACTIVE, "a measurement that repeats less often than the limit tripped");
        judge(BL_LINK_FRESH);
        check(frozen ? is_tripped(BL_CAUSE_STALE) : run->stage == BL_ACTIVE,
            frozen ? "a frozen measurement did not trip" : "a frozen measurement tripped where none is looked for");
    }
    inactive();
    set.frozen = 1;
    for (int i = 0; i < 3; ++i)
        judge(BL_LINK_FRESH);
    check(segment->cause == BL_CAUSE_NONE, "a frozen measurement tripped before the start");
}

static void try_link(void)
{
    const int64_t limit = set.stale*PERIOD + PERIOD/2;
    for (int late = 0; late < 2; ++late) {
        active();
        run->news = run->began - limit + 1 - late;
        judge(BL_LINK_OLD);
        check(late ? is_tripped(BL_CAUSE_LINK_LOST) : run->stage == BL_ACTIVE,
            late ? "a link without news did not trip" : "a link without news tripped a tick too early");
        active();
        segment->link.age = 3;
        run->sent[4] = run->began - limit + 1 - late;
        judge(BL_LINK_FRESH);
        check(late ? is_tripped(BL_CAUSE_LINK_LOST) : run->stage == BL_ACTIVE,
            late ? "commands that nothing answers did not trip" : "commands without an answer tripped a tick too early");
    }
    active();
    segment->link.age = 3;
    run->news = run->began - limit;
    judge(BL_LINK_OLD);
    check(is_tripped(BL_CAUSE_LINK_LOST), "a link without news did not trip while its answers were fresh");
    active();
    run->given = 2*BL_SENT;
    segment->link.age = BL_SENT + 1;
    judge(BL_LINK_FRESH);
    check(is_tripped(BL_CAUSE_LINK_LOST), "commands that nothing has answered for very long did not trip");
    active();
    segment->link.age = BL_SENT + 1; /* of another run: this one has given 7 */
    judge(BL_LINK_FRESH);
    check(run->stage == BL_ACTIVE, "commands of another run tripped this one");
    active();
    run->news = run->began - limit;
    run->sent[7] = 0; /* not sent yet */
    judge(BL_LINK_FRESH);
    check(run->stage == BL_ACTIVE && run->flags & BL_FLAG_FRESH, "a measurement that came did not count as news");
    active();
    judge(BL_LINK_LOST);
    check(is_tripped(BL_CAUSE_LINK_LOST), "a lost link did not trip");
    active();
    script.answer = BL_LINK_LOST;
    bl_give(run, &scripted_link, BL_LINK_FRESH, BL_ACTIVE);
    check(is_tripped(BL_CAUSE_LINK_LOST), "a link that is lost while it sends did not trip");
    active();
    set.lock_step = 1;
    script.answer = BL_LINK_LOST;
    check(bl_give(run, &scripted_link, BL_LINK_FRESH, BL_ACTIVE) == BL_LINK_LOST && script.heard,
        "a link that is lost in lock-step is not noticed");
    active();
    set.lock_step = 1;
    bl_give(run, &scripted_link, BL_LINK_LOST, BL_ACTIVE);
    check(!script.heard, "a lost link was waited for");
}

static int is_enabled(int was)
{
    run->flags = 0;
    bl_give(run, &scripted_link, BL_LINK_FRESH, was);
    return (wire.enable & BL_ENABLE) != 0 && (run->flags & BL_FLAG_ENABLED) != 0;
}

static void try_enable(void)
{
    active();
    check(is_enabled(BL_ACTIVE) && script.sent && run->sent[7] == run->began && run->given == 8,
        "the rig is not enabled, or not commanded, while the test runs");
    const unsigned beat = wire.enable & BL_BEAT;
    run->cycle += 1;
    bl_give(run, &scripted_link, BL_LINK_FRESH, BL_ACTIVE);
    check((wire.enable & BL_BEAT) != beat, "the beat does not change from cycle to cycle");
    inactive();
    run->commanded = 1;
    check(!is_enabled(BL_INACTIVE) && !script.sent && run->flags & BL_FLAG_SILENT,
        "the rig is enabled or commanded before the start");
    active();
    run->commanded = 0;
    check(!is_enabled(BL_ACTIVE) && !script.sent && run->flags & BL_FLAG_SILENT,
        "the rig is enabled or commanded before its first command");
    active();
    run->stage = BL_SAFE;
    check(is_enabled(BL_RETREAT), "the rig is not enabled for its first safe command");
    check(!is_enabled(BL_SAFE), "the rig is still enabled in the safe state");
}

static void try_emergency_stop(void)
{
    active();
    wire.stopped = 1;
    run->incoming[0] = 0.4375;
    judge(BL_LINK_FRESH);
    check(is_tripped(BL_CAUSE_EMERGENCY_STOP) && run->halted && run->flags & BL_FLAG_STOPPED,
        "a pressed emergency stop did not trip");
    check(!is_enabled(BL_ACTIVE), "the rig is enabled though its emergency stop is pressed");
    bl_compute(run);
    check(are_commands(0.4375, safe[PUSH]), "after an emergency stop the commands do not follow the rig");
    run->measured[0] = NAN;
    bl_compute(run);
    check(are_commands(0.4375, safe[PUSH]), "after an emergency stop the command follows what is no number");
    for (int i = 2; i < 5; ++i)
        bl_compute(run);
    check(run->stage == BL_RETREAT, "after an emergency stop the safe state came too early");
    bl_compute(run);
    check(run->stage == BL_SAFE, "after an emergency stop the safe state is never reached");
    active();
    run->stage = BL_SAFE;
    run->halted = 0;
    wire.stopped = 1;
    judge(BL_LINK_FRESH);
    check(run->stage == BL_SAFE && run->halted && segment->cause == BL_CAUSE_NONE,
        "an emergency stop in the safe state led out of it, or was not noticed");
    inactive();
    wire.stopped = 1;
    judge(BL_LINK_FRESH);
    check(run->stage == BL_INACTIVE && !run->halted && segment->cause == BL_CAUSE_NONE,
        "an emergency stop before the start tripped");
    active();
    run->stage = BL_RETREAT;
    run->commanded = 0;
    wire.stopped = 1;
    judge(BL_LINK_FRESH);
    check(!run->halted, "an emergency stop tripped what was commanded nothing");
    active();
    wire.stopped = 1;
    judge(BL_LINK_FRESH);
    bl_compute(run);
    judge(BL_LINK_FRESH);
    check(run->retreated == 1, "an emergency stop that stays pressed begins again and again");
}

static void try_fault(void)
{
    active();
    wire.fault = 23;
    strcpy(wire.fault_words, "the self-test");
    judge(BL_LINK_OLD);
    check(is_tripped(BL_CAUSE_CONTROLLER_FAULT) && segment->cause_detail == 23
        && strcmp(segment->fault_words, "the self-test") == 0 && run->flags & BL_FLAG_FAULT,
        "a fault of the rig's controller did not trip");
    active();
    script.fault = 23;
    bl_give(run, &scripted_link, BL_LINK_FRESH, BL_ACTIVE);
    check(is_tripped(BL_CAUSE_CONTROLLER_FAULT), "a fault that the rig's controller reports on a command did not trip");
    inactive();
    wire.fault = 23;
    judge(BL_LINK_FRESH);
    check(run->stage == BL_INACTIVE && segment->cause == BL_CAUSE_NONE, "a fault before the start tripped");
    active();
    run->stage = BL_SAFE;
    wire.fault = 23;
    judge(BL_LINK_FRESH);
    check(run->stage == BL_SAFE && segment->cause == BL_CAUSE_NONE, "a fault in the safe state tripped");
    active();
    run->stage = BL_RETREAT;
    run->commanded = 0;
    wire.fault = 23;
    judge(BL_LINK_FRESH);
    check(segment->cause == BL_CAUSE_NONE, "a fault tripped what was commanded nothing");
    active();
    strcpy(segment->fault_words, "before");
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    wire.fault = 23;
    judge(BL_LINK_FRESH);
    check(segment->cause == BL_CAUSE_STALE && strcmp(segment->fault_words, "before") == 0, "the first cause did not stay");
}

static void try_stood_still(void)
{
    for (int stage = BL_INACTIVE; stage <= BL_SAFE; ++stage) {
        const int moves = stage == BL_ACTIVE || stage == BL_RETREAT;
        active();
        run->stage = stage;
        bl_guard_stood_still(run, 5*PERIOD, 1);
        check(moves ? is_tripped(BL_CAUSE_STOOD_STILL) && run->silenced && !is_enabled(stage)
                    : run->stage == stage && !run->silenced && segment->cause == BL_CAUSE_NONE,
            moves ? "a loop that stood still did not trip, or enabled the rig again"
                  : "a loop that stood still tripped though nothing moved");
    }
}

/* What leads to safety, and from where. */
static void try_trip(void)
{
    static bl_interface plain;
    active();
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    check(is_tripped(BL_CAUSE_STALE) && run->by_tick && run->parameters[TRIP] == BL_CAUSE_STALE,
        "the tick's interlock was not called upon to lead to safety");
    run->retreated = 4;
    bl_guard_trip(run, BL_CAUSE_LINK_LOST, 0, 0, 1);
    check(run->by_tick && run->retreated == 4 && segment->cause == BL_CAUSE_STALE,
        "a second trip began the way to safety again, or changed the cause");
    bl_guard_trip(run, BL_CAUSE_LINK_LOST, 0, 0, 0);
    check(!run->by_tick && run->retreated == 0 && run->stage == BL_RETREAT,
        "the tick leads to safety though it cannot be trusted");
    run->retreated = 4;
    bl_guard_trip(run, BL_CAUSE_LINK_LOST, 0, 0, 0);
    check(run->retreated == 4, "a second trip began the executive's way to safety again");
    active();
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 0);
    check(is_tripped(BL_CAUSE_STALE) && !run->by_tick, "a trip of a tick that cannot be trusted is led by it");
    active();
    run->step = 0;
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    check(run->by_tick, "a trip in the first tick is not led by it");
    active();
    run->step = 0;
    set.approach_cycles = 4;
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    check(is_tripped(BL_CAUSE_STALE) && !run->by_tick, "the tick leads to safety from a command that it does not know");
    active();
    set.approach_cycles = 4;
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    check(run->by_tick, "after an approach the tick's interlock never leads to safety");
    active();
    plain = scripted;
    plain.interlock_trip = -1;
    run->tick = &plain;
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    check(is_tripped(BL_CAUSE_STALE) && !run->by_tick, "a tick without an interlock leads to safety");
    inactive();
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    check(is_tripped(BL_CAUSE_STALE) && !run->by_tick && !run->commanded, "a trip before the start is not noticed");
    bl_compute(run);
    check(run->stage == BL_SAFE && are_commands(safe[PLACE], safe[PUSH]), "a trip before the start moved the rig");
}

static void try_tick(void)
{
    static const int channels[] = {DESIRED, 5};
    static const double bounds[] = {0.625, 40};
    static const int causes[] = {1, 3};
    active();
    script.commands[PLACE] = 0.5078125;
    check(bl_compute(run) == 3 && are_commands(0.5078125, -0.25) && run->step == 4 && run->stage == BL_ACTIVE,
        "a tick without fault was not given out");
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j) {
            active();
            script.commands[i] = j == 0 ? NAN : j == 1 ? INFINITY : -INFINITY;
            bl_compute(run);
            check(is_tripped(BL_CAUSE_NOT_A_NUMBER) && !run->by_tick && are_commands(0.5, -0.25),
                "a command that is no number did not trip, or was given out");
        }
    for (int i = 0; i < 2; ++i)
        for (int sign = -1; sign <= 1; sign += 2)
            for (int j = 0; j < 2; ++j) { /* the tick says that something is beyond: what it is, the guard finds */
                active();
                script.commands[PLACE] = 0.5625;
                script.status = BL_BEYOND;
                script.desired = channels[i] == DESIRED ? sign*bounds[i]*(j ? BEYOND : INSIDE) : 0.5;
                run->measured[1] = channels[i] == 5 ? sign*bounds[i]*(j ? BEYOND : INSIDE) : 20.0;
                bl_compute(run);
                check(segment->cause == (uint64_t)(j ? causes[i] : BL_CAUSE_NOT_A_NUMBER)
                    && segment->cause_detail == (uint64_t)(j ? channels[i] : 0) && run->stage == BL_RETREAT
                    && are_commands(0.5, -0.25),
                    "a channel %s its bound is taken for another cause, or its tick was given out",
                    j ? "beyond" : "within");
            }
    active();
    script.status = BL_UNCONVERGED;
    script.desired = NAN;
    bl_compute(run);
    check(is_tripped(BL_CAUSE_NOT_A_NUMBER) && segment->cause_detail == DESIRED,
        "a channel that is no number did not trip");
    active();
    script.status = BL_UNCONVERGED;
    run->measured[0] = -INFINITY;
    bl_compute(run);
    check(is_tripped(BL_CAUSE_NOT_A_NUMBER) && segment->cause_detail == 4, "an infinite channel did not trip");
    active();
    script.cause = 6;
    script.commands[PLACE] = 0.515625;
    bl_compute(run);
    check(is_tripped(6) && run->by_tick && are_commands(0.515625, -0.25),
        "a trip of the tick's own interlock is not taken over, or its command was held back");
    run->retreated = 0;
    script.cause = 3;
    bl_compute(run);
    check(segment->cause == 6 && run->by_tick && run->stage == BL_RETREAT, "the way to safety tripped again");
    active();
    run->step = 0;
    set.approach_cycles = 4;
    script.cause = 6;
    script.commands[PLACE] = 0.5078125;
    bl_compute(run);
    check(is_tripped(6) && !run->by_tick && are_commands(0.5, -0.25),
        "a first tick that trips was given out though it does not know the last command");
}

static void try_place(void)
{
    for (int sign = -1; sign <= 1; sign += 2)
        for (int beyond = 0; beyond < 2; ++beyond) {
            inactive();
            bl_start(run);
            run->measured[0] = 0.5 + sign*within[PLACE]*(beyond ? BEYOND : INSIDE);
            bl_compute(run);
            check(beyond ? is_tripped(BL_CAUSE_START_POSITION) && !run->commanded : run->commanded && run->stage == BL_ACTIVE,
                beyond ? "a rig that stands elsewhere than where the test begins did not trip"
                       : "a rig that stands where the test begins tripped");
        }
    inactive();
    bl_start(run);
    run->measured[0] = NAN;
    bl_compute(run);
    check(is_tripped(BL_CAUSE_START_POSITION), "a rig of which nobody knows where it stands did not trip");
    inactive();
    bl_start(run);
    run->measured[0] = 0.515625;
    bl_compute(run);
    check(run->from[PLACE] == 0.515625 && run->from[PUSH] == safe[PUSH],
        "the way to the first command does not begin where the rig stands");
}

/* A rig of which nothing says where it stands. */
static void try_blind(void)
{
    static bl_interface blind;
    blind = scripted;
    blind.place_measured = (const long[]){-1, -1};
    inactive();
    run->tick = &blind;
    bl_start(run);
    script.desired = 0.75;
    run->measured[0] = 0.25;
    bl_compute(run);
    check(run->stage == BL_ACTIVE && run->from[PLACE] == safe[PLACE], "a place was judged that is not measured");
    wire.stopped = 1;
    judge(BL_LINK_FRESH);
    bl_compute(run);
    check(are_commands(0.5, safe[PUSH]), "after an emergency stop the command leaves its place though nothing tells where to");
}

static void try_approach(void)
{
    for (int sign = -1; sign <= 1; sign += 2)
        for (int beyond = 0; beyond < 2; ++beyond)
            for (int which = 0; which < 3; ++which) { /* its first step, another, the first tick */
                const double factor = beyond ? BEYOND : INSIDE, change = sign*rates[PLACE]*1e-3*factor;
                active();
                run->step = 0;
                set.approach_cycles = 4;
                run->approach = which == 0 ? 4 : which == 1 ? 1 : 0;
                /* Far from where it is, or was, so that comparing with the wrong one is noticed. */
                run->from[PUSH] = -0.25;
                run->from[PLACE] = which == 0 ? 0.5 : 0.25;
                run->commands[PLACE] = which == 0 ? 0.25 : 0.5;
                const double share = 0.5*(1.0 + cos(3.14159265358979323846*3/4));
                script.commands[PLACE] = 0.5 + (which == 0 ? change/share : change);
                script.desired = 0.5;
                bl_compute(run);
                check(beyond ? is_tripped(BL_CAUSE_COMMAND_RATE) && !run->by_tick
                             : run->stage == BL_ACTIVE && fabs(run->commands[PLACE] - 0.5 - change) < 1e-12,
                    beyond ? "%s that is faster than the limit of the rate did not trip"
                           : "%s within the limit of the rate tripped",
                    which < 2 ? "a step of the approach" : "the first command");
                if (!beyond && which < 2)
                    check(run->approach == (which == 0 ? 3 : 0) && run->commanded && run->step == 0,
                        "the approach does not go on");
            }
    active();
    set.approach_cycles = 4;
    script.commands[PLACE] = 0.6;
    bl_compute(run);
    check(run->stage == BL_ACTIVE && are_commands(0.6, -0.25), "a later command was judged as if it were the first");
    active();
    run->step = 0;
    script.commands[PLACE] = 0.6;
    bl_compute(run);
    check(run->stage == BL_ACTIVE, "without an approach the first command tripped");
    active();
    run->step = 0;
    set.approach_cycles = 4;
    run->approach = 2;
    script.status = BL_SINGULAR;
    bl_compute(run);
    check(is_tripped(BL_CAUSE_NOT_A_NUMBER), "the approach leads to what cannot be trusted");
}

static void try_retreat(void)
{
    static const double begins[][2] = {{0.5, -0.25}, {-0.25, -1.5}, {0.126, -0.7}, {0.124, -0.8}, {0.125, -0.75}};
    for (size_t i = 0; i < sizeof begins/sizeof begins[0]; ++i) {
        double before[2];
        int64_t most = 6, cycles = 0;
        int is_gentle = 1;
        active();
        memcpy(run->commands, begins[i], sizeof before);
        for (int j = 0; j < 2; ++j)
            most = (int64_t)fmax((double)most, ceil(1.5707964*fabs(begins[i][j] - safe[j])/(rates[j]*1e-3)));
        bl_guard_ramp(run);
        for (; run->stage == BL_RETREAT && cycles < most; ++cycles) {
            memcpy(before, run->commands, sizeof before);
            bl_compute(run);
            for (int j = 0; j < 2; ++j)
                is_gentle &= fabs(run->commands[j] - before[j]) <= rates[j]*1e-3*(1.0 + 1e-6);
        }
        check(run->stage == BL_SAFE && are_commands(safe[PLACE], safe[PUSH]),
            "the way to safety does not end at the safe command in its time");
        check(is_gentle && (i < 4 ? cycles >= 6 : cycles == 1),
            "a step of the way to safety is faster than the limit of the rate, or the way is too short");
    }
    for (int is_safe = 0; is_safe < 2; ++is_safe) { /* led by the tick, which gets there, or does not */
        active();
        bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
        script.commands[PLACE] = is_safe ? safe[PLACE] : 0.5;
        script.commands[PUSH] = safe[PUSH];
        for (int i = 0; i < 8; ++i)
            bl_compute(run);
        check(run->stage == BL_RETREAT && run->by_tick, "the tick's way to safety was cut short");
        bl_compute(run);
        check(is_safe ? run->stage == BL_SAFE : run->stage == BL_RETREAT && !run->by_tick,
            is_safe ? "the tick's way to safety does not end in the safe state"
                    : "a tick that does not reach safety in its time leads on");
    }
    active();
    set.steps = 4;
    bl_compute(run);
    check(run->stage == BL_ACTIVE, "the test ended before its last tick");
    bl_compute(run);
    check(run->stage == BL_RETREAT && !run->by_tick && segment->cause == BL_CAUSE_NONE,
        "the test does not end with its last tick, on the way to safety");
}

static void try_overruns(void)
{
    active();
    bl_overrun(run, 1);
    bl_overrun(run, 1);
    bl_overrun(run, 0);
    bl_overrun(run, 1);
    bl_overrun(run, 1);
    check(run->stage == BL_ACTIVE && segment->counts.overruns == 4, "fewer late ticks in a row than the limit tripped");
    bl_overrun(run, 1);
    check(is_tripped(BL_CAUSE_OVERRUN), "late ticks in a row did not trip");
    inactive();
    for (int i = 0; i < 4; ++i)
        bl_overrun(run, 1);
    check(segment->cause == BL_CAUSE_NONE, "late ticks tripped though nothing moved");
    active();
    set.overrun_limit = 0;
    for (int i = 0; i < 4; ++i)
        bl_overrun(run, 1);
    check(run->stage == BL_ACTIVE, "late ticks tripped where no limit is set");
}

/* Puts a command into the mailbox and has it heard: what became of it. */
static int mail(int kind, uint32_t index, double value, uint64_t more)
{
    bl_mail letter = {.number = segment->mail_given + 1, .kind = (uint32_t)kind, .index = index, .value = value,
        .more = more, .who = "self-test"};
    uint64_t words[sizeof letter/8], sum = BL_MAIL_KEY;
    memcpy(words, &letter, sizeof words);
    for (size_t i = 0; i < sizeof words/8; ++i)
        sum ^= words[i];
    letter.check = sum;
    segment->mail[(letter.number - 1)%BL_MAILS] = letter;
    segment->mail_given = letter.number;
    bl_listen(run, run->began);
    return (int)segment->events[(segment->events_written - 1)%BL_EVENTS].refused;
}

static void try_mailbox(void)
{
    inactive();
    set.arm = 1;
    run->armed = 0;
    check(mail(BL_MAIL_START, 0, 0, 0) == BL_NOT_ARMED && run->stage == BL_INACTIVE, "a START without ARM was obeyed");
    check(mail(BL_MAIL_ARM, 0, 0, 0) == BL_OBEYED && run->armed, "an ARM was not obeyed");
    check(mail(BL_MAIL_START, 0, 0, 0) == BL_OBEYED && run->stage == BL_ACTIVE, "a START after ARM was not obeyed");
    check(mail(BL_MAIL_START, 0, 0, 0) == BL_NOT_NOW && mail(BL_MAIL_ARM, 0, 0, 0) == BL_NOT_NOW
        && mail(BL_MAIL_RESET, 0, 0, 0) == BL_NOT_NOW, "a START, an ARM or a RESET was obeyed while the test runs");
    inactive();
    set.inactive = 1;
    check(mail(BL_MAIL_START, 0, 0, 0) == BL_NOT_NOW && mail(BL_MAIL_ARM, 0, 0, 0) == BL_NOT_NOW
        && run->stage == BL_INACTIVE, "a loop that only looks was started or armed");
    inactive();
    set.arm = 1;
    bl_begin(run);
    check(!run->armed, "a loop that is to be armed is so from the beginning");
    active();
    bl_guard_trip(run, BL_CAUSE_STALE, 0, 0, 1);
    run->stage = BL_SAFE;
    check(mail(BL_MAIL_RESET, 0, 0, 0) == BL_OBEYED && run->stage == BL_INACTIVE && segment->cause == BL_CAUSE_NONE,
        "a reset was not obeyed in the safe state");
    run->stage = BL_SAFE;
    run->ending = 1;
    check(mail(BL_MAIL_RESET, 0, 0, 0) == BL_NOT_NOW && run->stage == BL_SAFE, "a reset was obeyed though the test ends");

    static const struct {
        uint32_t index;
        double value;
        int outcome;
    } values[] = {{TUNABLE, 7.5, BL_OBEYED}, {TUNABLE, -2.5, BL_OBEYED}, {TUNABLE, 7.5*BEYOND, BL_OUT_OF_BOUNDS},
        {TUNABLE, -2.5*BEYOND, BL_OUT_OF_BOUNDS}, {TUNABLE, NAN, BL_NOT_FINITE}, {TUNABLE, INFINITY, BL_NOT_FINITE},
        {TUNABLE, 0, BL_OBEYED}, {NONZERO, 0, BL_OUT_OF_BOUNDS}, {NONZERO, 3, BL_OBEYED}, {FIXED, 0, BL_NOT_TUNABLE},
        {4, 1, BL_NO_PARAMETER}};
    for (size_t i = 0; i < sizeof values/sizeof values[0]; ++i) {
        active();
        const uint32_t index = values[i].index;
        const int outcome = mail(BL_MAIL_SET, index, values[i].value, 0), obeyed = values[i].outcome == BL_OBEYED;
        const double now_is = run->parameters[index < 4 ? index : 3];
        check(outcome == values[i].outcome
            && now_is == (obeyed ? values[i].value : scripted.parameter_values[index < 4 ? index : 3])
            && (index > 3 || run->shown[index] == now_is),
            obeyed ? "a value within its bounds was refused" : "a parameter was set beyond what it may be: %s",
            values[i].outcome == BL_NOT_FINITE    ? "no number"
            : values[i].outcome == BL_NOT_TUNABLE ? "it is not tunable"
            : index == NONZERO                    ? "zero"
            : values[i].value < 0                 ? "below its least"
                                                  : "above its most");
    }
    active();
    mail(BL_MAIL_SET, TUNABLE, 1, 1);
    check(run->parameters[TUNABLE] == 3, "the first of two values was set before the second came");
    check(mail(BL_MAIL_SET, NONZERO, 0, 0) == BL_OUT_OF_BOUNDS && run->parameters[TUNABLE] == 3,
        "one of two values was set though the other was refused");
    active();
    segment->mail_given = 1; /* nothing was written there */
    memset(&segment->mail[0], 0, sizeof segment->mail[0]);
    for (int i = 0; i < BL_MAIL_LOOKS; ++i)
        bl_listen(run, run->began);
    check(segment->counts.mails_refused == 1 && run->stage == BL_ACTIVE, "a command that makes no sense was not left out");
}

static void request(int which, uint64_t cause)
{
    segment->requests[which].cause = cause;
    segment->requests[which].count += 1;
    bl_listen(run, run->began);
}

static void try_stops(void)
{
    static const struct {
        uint64_t given;
        int cause;
    } trips[] = {{0, BL_CAUSE_OPERATOR}, {1, 1}, {BL_CAUSE_RECORD_LOST, BL_CAUSE_RECORD_LOST}, {999, 999},
        {1000, BL_CAUSE_OPERATOR}, {UINT64_MAX, BL_CAUSE_OPERATOR}};
    for (size_t i = 0; i < sizeof trips/sizeof trips[0]; ++i) {
        active();
        request(BL_REQUEST_TRIP, trips[i].given);
        check(is_tripped(trips[i].cause) && segment->requests[BL_REQUEST_TRIP].heard == 1, "the operator's trip did not trip");
    }
    for (int stage = BL_INACTIVE; stage <= BL_SAFE; ++stage) {
        active();
        run->stage = stage;
        run->by_tick = stage == BL_RETREAT;
        request(BL_REQUEST_STOP, 0);
        check(run->ending && segment->cause == BL_CAUSE_NONE
            && run->stage == (stage == BL_SAFE ? BL_FINALIZED : BL_RETREAT) && run->by_tick == (stage == BL_RETREAT),
            "the operator's stop does not lead to the safe state, or trips");
        active();
        run->stage = stage;
        request(BL_REQUEST_RETREAT, 0);
        check(run->stage == (stage == BL_ACTIVE ? BL_RETREAT : stage) && run->parked == (stage == BL_ACTIVE)
            && !run->by_tick && segment->cause == BL_CAUSE_NONE,
            "a retreat that the operator wants does not lead to the safe state, or was obeyed when nothing moved");
        bl_start(run);
        bl_listen(run, run->began);
        check(run->stage == BL_ACTIVE, "one request to retreat was obeyed twice");
    }
    active();
    bl_listen(run, run->began);
    check(run->stage == BL_ACTIVE, "the loop stops though nobody wants it to");
    active();
    segment->supervisor_ns = run->started = 1;
    bl_listen(run, run->began);
    check(run->stage == BL_ACTIVE, "somebody is missed though nobody is expected");
    for (int late = 0; late < 2; ++late)
        for (int who = 0; who < 3; ++who) { /* supervisor, operator, an operator who was there before the start */
            active();
            const int cause = who == 0 ? BL_CAUSE_SUPERVISOR_LOST : BL_CAUSE_OPERATOR_LOST;
            *(who == 0 ? &set.supervisor_ns : &set.operator_ns) = 5*PERIOD;
            const int64_t since = run->began - 5*PERIOD - late;
            segment->supervisor_ns = who == 0 ? since : 0;
            segment->operator_ns = who == 1 ? since : who == 2 ? 1 : 0;
            run->started = who == 2 ? since : 1;
            bl_listen(run, run->began);
            check(late ? is_tripped(cause) : run->stage == BL_ACTIVE,
                late ? "%s who is gone did not trip" : "%s who is there tripped", who ? "an operator" : "a supervisor");
        }
    active();
    set.supervisor_ns = PERIOD;
    bl_listen(run, run->began);
    check(run->stage == BL_ACTIVE, "a supervisor is missed who never was there");
    inactive();
    set.operator_ns = PERIOD;
    bl_listen(run, run->began);
    check(segment->cause == BL_CAUSE_NONE, "an operator is missed before the start");
    active();
    set.supervisor_ns = PERIOD;
    segment->supervisor_ns = 1;
    run->stage = BL_SAFE;
    bl_listen(run, run->began);
    check(run->stage == BL_FINALIZED, "in the safe state, without a supervisor, the loop does not end");
}

/* The test's own tick, with what the test states of its interlock. */

static const bl_interface *own;
static long trials;
static int64_t try_until; /* instant */

static int may_try(void)
{
    return trials < MOST_TRIALS && bl_now() < try_until;
}

static const char *word_of(int cause)
{
    static const char *const words[] = {"", "displacement", "velocity", "force", "command", "tracking error", "power"};
    return cause == BL_CAUSE_STALE ? "number of equal samples" : cause == BL_CAUSE_COMMAND_RATE ? "command's rate"
        : cause == BL_CAUSE_OPERATOR                                                           ? "way to safety"
                                                                                                : words[cause];
}

/* What may be tightened counts as it is set. */
static double limit_of(const bl_stated *limit)
{
    return limit->parameter < 0 ? limit->most : fmin(limit->most, known[limit->parameter]);
}

/* At its beginning (step 0), or after one tick: measured values and state as they are then. */
static void own_active(long step)
{
    begin(own);
    bl_start(run);
    run->met = 1;
    run->commanded = 1;
    run->step = step;
    run->same = -1;
    memcpy(run->measured, rest, sizeof(double)*(size_t)own->measured);
    memcpy(run->incoming, rest, sizeof(double)*(size_t)own->measured);
    if (step > 0) {
        memcpy(run->state, snapshot, sizeof(double)*(size_t)own->states);
        memcpy(run->commands, given, sizeof(double)*(size_t)own->commands);
    }
    for (long i = 0; i < own->stateds; ++i) {
        const bl_stated *limit = &own->stated[i];
        if (limit->cause == BL_CAUSE_STALE) /* zeros repeat the zeros of the beginning */
            run->state[limit->state] = -1;
        if (limit->held >= 0) /* as if it had had the time to follow */
            run->state[limit->held] = known[limit->parameter];
    }
}

/* One tick, as the executive takes it: the cause that the interlock gives. */
static int own_tick(void)
{
    trials += 1;
    judge(BL_LINK_FRESH);
    bl_compute(run);
    const double cause = own->interlock_cause < 0 ? 0.0 : run->channels[own->interlock_cause];
    return cause >= 1 && cause < 1000 ? (int)cause : cause == 0 ? 0 : -1;
}

static double target_of(const bl_stated *limit)
{
    const double share = limit->share < 0 ? 1.0 : run->channels[limit->share], at = own->safe[limit->command];
    return at + share*(run->channels[limit->channel] - at);
}

/* Lets the rig stand where the test wants it, at a step: once more, where that depends on where it stands. */
static void stand(long step)
{
    for (int again = 0; again < 3; ++again) {
        own_active(step);
        own_tick();
        for (long i = 0; i < own->stateds; ++i)
            if (own->stated[i].cause == BL_CAUSE_TRACKING_ERROR)
                rest[own->stated[i].measured] = target_of(&own->stated[i]);
    }
    own_active(step);
}

/* Takes the first tick, and finds measured values with which neither that nor the next one trips; 0 if there are none. */
static int own_begin(const double *measured, int shown)
{
    for (long i = 0; i < own->measured; ++i)
        rest[i] = shown && bl_is_finite(measured[i]) ? measured[i] : 0.0;
    if (!shown)
        stand(0);
    own_active(0);
    if (own_tick() != 0 || run->status != 0 || run->stage != BL_ACTIVE)
        return 0;
    memcpy(snapshot, run->state, sizeof(double)*(size_t)own->states);
    memcpy(given, run->commands, sizeof(double)*(size_t)own->commands);
    if (!shown)
        stand(1);
    own_active(1);
    return own_tick() == 0 && run->status == 0 && run->stage == BL_ACTIVE;
}

/* Whether the command given out in a tick that tripped is the last one before it. */
static int stays(void)
{
    for (long i = 0; i < own->commands; ++i)
        if (!(fabs(run->commands[i] - given[i]) <= 1e-9*(fabs(given[i]) + fabs(own->safe[i]))))
            return 0;
    return 1;
}

static void try_measured_limit(const bl_stated *limit)
{
    const char *name = own->measured_names[limit->measured];
    for (int sign = -1; sign <= 1; sign += 2)
        for (int beyond = 0; beyond < 2; ++beyond) {
            own_active(1);
            run->incoming[limit->measured] = sign*limit_of(limit)*(beyond ? 1.0 + 1e-9 : 1.0);
            const int cause = own_tick();
            check(beyond ? cause == limit->cause && run->stage == BL_RETREAT : cause != limit->cause,
                beyond ? "'%s' at %.9g, beyond the limit of the %s, did not trip"
                       : "'%s' at %.9g, within the limit of the %s, tripped",
                name, run->incoming[limit->measured], word_of(limit->cause));
            if (beyond && run->status == 0)
                check(stays(), "'%s' beyond its limit: the command of that tick is not the last one before it", name);
        }
}

/* Finds, by one of the tick's states, the largest command that does not trip: it is within the limit, and next to it. */
static int drive_command(const bl_stated *limit, long state, double sign, double *largest)
{
    const double most = limit_of(limit);
    double below = 0.0, above = 0.0, size = 0.0;
    *largest = 0.0;
    for (int i = 0; i < 100 && may_try(); ++i) {
        const double offset = above == 0.0 ? sign*(size = size == 0.0 ? 1e-6 : 32.0*size) : 0.5*(below + above);
        int cause = 0;
        if (size > 1e12)
            return 0;
        for (int again = 0; again < 3; ++again) { /* the rig follows, so that no tracking error comes first */
            own_active(0);
            for (long j = 0; j < own->named_states; ++j) /* a test may begin with its switch open */
                if (strcmp(own->state_names[j], "switch.displacement.gamma") == 0)
                    run->state[j] = 1.0;
            run->state[state] += offset;
            for (long j = 0; j < own->stateds && again > 0; ++j)
                if (own->stated[j].cause == BL_CAUSE_TRACKING_ERROR && bl_is_finite(rest[own->measured + j]))
                    run->incoming[own->stated[j].measured] = rest[own->measured + j];
            cause = own_tick();
            for (long j = 0; j < own->stateds; ++j)
                if (own->stated[j].cause == BL_CAUSE_TRACKING_ERROR)
                    rest[own->measured + j] = target_of(&own->stated[j]);
        }
        const double command = fabs(run->channels[own->command_at[limit->command]]);
        const int goes_on = cause == 0 && run->status == 0 && run->stage == BL_ACTIVE;
        if (goes_on && command > most) {
            *largest = command;
            return -1;
        }
        if (cause == limit->cause) {
            above = offset;
        } else if (goes_on) {
            below = offset;
            *largest = fmax(*largest, command);
        } else {
            return 0; /* something else comes first */
        }
        if (above != 0.0 && *largest >= most*INSIDE)
            return 1;
    }
    return 0;
}

static void try_command(const bl_stated *limit)
{
    const char *name = own->command_names[limit->command];
    double largest = 0.0;
    trials = 0;
    for (long j = 0; j < own->named_states && may_try(); ++j) {
        if (strncmp(own->state_names[j], "interlock.", 10) == 0 || strncmp(own->state_names[j], "switch.", 7) == 0)
            continue;
        for (int sign = -1; sign <= 1; sign += 2) {
            const int outcome = drive_command(limit, j, sign, &largest);
            if (outcome == 0)
                break;
            check(outcome > 0, "'%s' at %.9g, beyond the limit of the command, did not trip", name, largest);
            if (sign > 0 || outcome < 0)
                return;
        }
    }
    leave_out("the limit of '%s' (nothing that was tried drives it there before something else trips)", name);
}

static void try_command_rate(const bl_stated *limit)
{
    const char *name = own->command_names[limit->command];
    own_active(1);
    own_tick();
    const double command = run->channels[own->command_at[limit->command]], most = limit_of(limit)*own->period;
    if (!(most*1e-7 > fabs(command)*1e-15)) {
        leave_out("the rate of '%s' (a tick's change is lost in its digits)", name);
        return;
    }
    for (int sign = -1; sign <= 1; sign += 2)
        for (int beyond = 0; beyond < 2; ++beyond) {
            own_active(1);
            run->state[limit->state] = command - sign*most*(beyond ? BEYOND : INSIDE);
            const int cause = own_tick();
            check(beyond ? cause == limit->cause && run->stage == BL_RETREAT : cause != limit->cause,
                beyond ? "a change of '%s' faster than the limit of the command's rate did not trip"
                       : "a change of '%s' within the limit of the command's rate tripped", name);
        }
}

static void try_tracking(const bl_stated *limit)
{
    const char *name = own->measured_names[limit->measured];
    const double most = limit_of(limit);
    int reached = 0;
    for (int sign = -1; sign <= 1; sign += 2)
        for (int beyond = 0; beyond < 2; ++beyond) {
            double place = rest[limit->measured], error = 0.0;
            int cause = 0;
            for (int again = 0; again < 4; ++again) { /* where it is wanted may depend on where it is */
                own_active(0);
                run->incoming[limit->measured] = place;
                cause = own_tick();
                error = fabs(target_of(limit) - run->measured[limit->measured]);
                place = again < 3 ? target_of(limit) + sign*most*(beyond ? BEYOND : INSIDE) : place;
            }
            const int is_beyond = error > most*(1.0 + 1e-9), is_within = error < most*(1.0 - 1e-9);
            if ((is_beyond && beyond && (cause == 0 || cause == limit->cause)) || (is_within && !beyond)) {
                reached += 1;
                check(beyond ? cause == limit->cause && run->stage == BL_RETREAT : cause != limit->cause,
                    beyond ? "'%s' with a tracking error of %.9g, beyond its limit, did not trip"
                           : "'%s' with a tracking error of %.9g, within its limit, tripped", name, error);
            }
        }
    if (reached < 4)
        leave_out("the tracking error of '%s' from %s (another limit comes first)", name,
            reached > 0 ? "each side" : "any side");
}

static void try_power(const bl_stated *limit, int is_at_rest)
{
    const double square = limit->most*limit->most, a = own->memory;
    if (!is_at_rest || limit->measured < 0 || limit->velocity < 0 || !(a > 0.0)) {
        leave_out("the power trip (the tick does not bear a force of zero)");
        return;
    }
    for (int beyond = 0; beyond < 2; ++beyond) { /* without a force nothing is added */
        own_active(1);
        run->state[limit->state] = square/a*(beyond ? BEYOND : INSIDE);
        const int cause = own_tick();
        check(beyond ? cause == limit->cause && run->stage == BL_RETREAT : cause != limit->cause,
            beyond ? "a power discrepancy beyond %.6g W did not trip" : "a power discrepancy within %.6g W tripped",
            limit->most);
    }
    double largest = 0.0, least = INFINITY;
    for (int sign = 0; sign < 4; ++sign) {
        own_active(1);
        run->incoming[limit->measured] = sign & 1 ? 0.5 : -0.5;
        run->incoming[limit->velocity] = sign & 2 ? 0.0625 : -0.0625;
        own_tick();
        largest = fmax(largest, run->state[limit->state]);
        least = bl_is_finite(run->state[limit->state]) ? fmin(least, run->state[limit->state]) : -INFINITY;
    }
    check(largest > 0.0 && least >= 0.0, "a force that moves does not add to the power discrepancy, or takes away from it");
}

static void try_stale(const bl_stated *limit)
{
    const char *name = own->measured_names[limit->measured];
    for (int enough = 0; enough < 2; ++enough) {
        own_active(1);
        run->state[limit->state] = limit->most - 2 + enough;
        run->state[limit->other] = run->incoming[limit->measured];
        const int cause = own_tick();
        check(enough ? cause == limit->cause && run->stage == BL_RETREAT : cause != limit->cause,
            enough ? "'%s', the same %.0f times, did not trip" : "'%s' tripped before it was the same %.0f times", name,
            limit->most);
    }
}

/* The tick's own way to safety, from somewhere else than there. */
static void try_way(const bl_stated *limit)
{
    const double ticks = ceil(limit->most/own->period - 1e-9), at = own->safe[limit->command], from = at + 0.75;
    for (int part = 0; part < 3; ++part) {
        own_active(1);
        bl_guard_trip(run, BL_CAUSE_OPERATOR, 0, 0, 1);
        if (part > 0)
            own_tick(); /* from here on it is latched, and the request may go */
        run->parameters[own->interlock_trip] = part > 0 ? 0.0 : BL_CAUSE_OPERATOR;
        run->state[limit->other] = from;
        run->state[limit->state] = part == 2 ? ticks - 1 : part == 1 ? fmax(floor(0.5*ticks) - 1, 0) : 0;
        const int cause = own_tick();
        const double command = run->commands[limit->command];
        check(cause == BL_CAUSE_OPERATOR && run->stage == BL_RETREAT && run->by_tick,
            part ? "a trip of the interlock does not stay" : "a request to trip is not obeyed by the interlock");
        check(part == 0   ? fabs(command - from) <= 1e-9*(fabs(from) + 1.0)
                : part == 2 ? fabs(command - at) <= 1e-9*(fabs(at) + 1.0)
                            : command >= at - 1e-9 && command <= from + 1e-9,
            "the interlock's way to safety does not lead from the last command to the safe one");
    }
}

static void try_own(const double *measured)
{
    static const char *const words[] = {"NaN", "+infinity", "-infinity"};
    const double bad[] = {NAN, INFINITY, -INFINITY};
    int is_at_rest = 1;
    if (own->calls) {
        leave_out("the test's own tick (it calls a program that keeps a memory of its own)");
        return;
    }
    if (!own_begin(measured, 0)) {
        is_at_rest = 0;
        if (!own_begin(measured, 1)) {
            leave_out("the test's own tick (it trips by itself where the rig stands)");
            return;
        }
    }
    for (long i = 0; i < own->judged; ++i)
        for (int j = 0; j < 3; ++j) {
            own_active(1);
            run->incoming[i] = bad[j];
            own_tick();
            int is_finite = 1;
            for (long k = 0; k < own->commands; ++k)
                is_finite &= bl_is_finite(run->commands[k]);
            check(segment->cause == BL_CAUSE_NOT_A_NUMBER && run->stage != BL_ACTIVE && is_finite && bl_is_finite(run->measured[i]),
                "%s in measured value '%s' did not trip, or a command is no number", words[j], own->measured_names[i]);
            if (!own->is_watched)
                continue;
            own_active(1); /* past the guard: the tick has one of its own */
            run->measured[i] = bad[j];
            judge(BL_LINK_OLD);
            bl_compute(run);
            for (long k = 0; k < own->named_states; ++k)
                is_finite &= bl_is_finite(run->state[k]) || !bl_is_finite(snapshot[k]);
            check(run->channels[own->interlock_cause] == BL_CAUSE_NOT_A_NUMBER && stays() && is_finite,
                "%s in measured value '%s' did not trip the interlock, or its command follows, or a state", words[j],
                own->measured_names[i]);
        }
    for (long i = 0; i < own->judged; ++i) { /* where a run stops without an interlock */
        const long channel = own->measured_channel[i];
        if (channel < 0 || !bl_is_finite(own->channel_bound[channel]))
            continue;
        for (int sign = -1; sign <= 1; sign += 2)
            for (int beyond = 0; beyond < 2; ++beyond) {
                own_active(1);
                run->incoming[i] = sign*own->channel_bound[channel]*(beyond ? 1.0 + 1e-9 : 1.0);
                own_tick();
                check(beyond ? run->status & BL_BEYOND && run->stage == BL_RETREAT
                             : !(run->status & BL_BEYOND && segment->cause_detail == (uint64_t)channel),
                    beyond ? "'%s' beyond the limit of the run did not trip" : "'%s' within the limit of the run tripped",
                    own->measured_names[i]);
            }
    }
    for (long i = 0; i < own->stateds; ++i) {
        const bl_stated *limit = &own->stated[i];
        check(limit->parameter < 0 || (known[limit->parameter] > 0.0 && known[limit->parameter] <= limit->most),
            "the limit of the %s is set to %.9g; the test states %.9g", word_of(limit->cause),
            limit->parameter < 0 ? 0.0 : known[limit->parameter], limit->most);
        switch (limit->cause) {
        case BL_CAUSE_STALE: try_stale(limit); break;
        case BL_CAUSE_COMMAND_RATE: try_command_rate(limit); break;
        case BL_CAUSE_COMMAND: try_command(limit); break;
        case BL_CAUSE_TRACKING_ERROR: try_tracking(limit); break;
        case BL_CAUSE_POWER: try_power(limit, is_at_rest); break;
        case BL_CAUSE_OPERATOR: try_way(limit); break;
        default: try_measured_limit(limit); break;
        }
    }
    if (!own->is_watched)
        leave_out("an interlock (the test states none)");
    /* What the outputs of a board can give. */
    own_active(1);
    run->commands[0] = NAN;
    if (bl_channels_refuse(&wire, run->commands) == 0) {
        leave_out("limits of outputs (the link has no channels)");
        return;
    }
    for (int sign = -1; sign <= 1; sign += 2)
        for (long i = 0; i < own->commands; ++i) {
            const bl_channel *output = &bl_lab.output[i];
            for (int way = 0; way < 4; ++way) { /* commanded; its very first command; commanded nothing; not started */
                own_active(1);
                wire.fault = 0;
                run->commanded = way != 2;
                run->given = run->given_before + (way != 1);
                run->stage = way == 3 ? BL_INACTIVE : BL_ACTIVE;
                run->commands[i] = sign < 0 ? output->least - fmax(1.0, fabs(output->least))
                                            : output->most + fmax(1.0, fabs(output->most));
                bl_guard_outputs(run, given);
                check(way < 2 ? is_tripped(BL_CAUSE_CONTROLLER_FAULT) && !run->by_tick && stays() && run->commanded == !way
                              : segment->cause == BL_CAUSE_NONE,
                    way < 2 ? "'%s' beyond what its channel gives did not trip, or was given out"
                            : "'%s' tripped before anything was commanded",
                    own->command_names[i]);
            }
        }
}

/* Text in JSON; names of signals have no control characters. */
static void quote(char *to, size_t size, const char *text)
{
    size_t n = 0;
    for (; *text != '\0' && n + 3 < size; ++text) {
        if (*text == '"' || *text == '\\')
            to[n++] = '\\';
        to[n++] = *text;
    }
    to[n] = '\0';
}

static double *room(double **pool, long count)
{
    double *const at = *pool;
    *pool += count + 1;
    return at;
}

#define LARGER(a, b) ((a) > (b) ? (a) : (b))

int bl_self_test(const bl_interface *tick, const bl_options *options, bl_link_config *link, const double *measured,
    char *words, size_t size)
{
    const long states = LARGER(tick->states, 8), parameters = LARGER(tick->parameters, 8), inputs = LARGER(tick->inputs, 8),
               channels = LARGER(tick->channels, 8), ends = LARGER(tick->measured, 8) + tick->stateds,
               commands = LARGER(tick->commands, 8);
    const int stops = bl_asked_to_stop;
    const int64_t began = bl_now();
    const size_t most = (size_t)(3*states + 3*parameters + inputs + channels + 3*ends + 3*commands + 32);
    double *const memory = calloc(most, sizeof(double)), *pool = memory;
    char sentence[2*sizeof first], others[2*sizeof left_out];
    cases = failures = trials = 0;
    try_until = began + LONGEST;
    first[0] = left_out[0] = '\0';
    own = tick;
    segment = calloc(1, sizeof *segment);
    if (memory == NULL || segment == NULL) {
        check(0, "there is no memory for the self-test");
    } else {
        run->state = room(&pool, states), run->copy = room(&pool, states), snapshot = room(&pool, states);
        run->parameters = room(&pool, parameters), run->shown = room(&pool, parameters), known = room(&pool, parameters);
        run->in = room(&pool, inputs), run->channels = room(&pool, channels);
        run->measured = room(&pool, ends), run->incoming = room(&pool, ends), rest = room(&pool, ends);
        run->commands = room(&pool, commands), run->from = room(&pool, commands), given = room(&pool, commands);
        const int heeded = bl_channels_heed(0);
        inactive();
        try_link();
        try_frozen();
        try_measured();
        try_enable();
        try_emergency_stop();
        try_fault();
        try_stood_still();
        try_trip();
        try_tick();
        try_place();
        try_blind();
        try_approach();
        try_retreat();
        try_overruns();
        try_mailbox();
        try_stops();
        bl_channels_heed(heeded);
        /* A tick with faulty guards would only say the same again. */
        if (failures == 0) {
            set = (bl_options){.stale = options->stale, .retreat_cycles = options->retreat_cycles,
                .table = options->table, .table_rows = options->table_rows, .parameters = known};
            memcpy(known, options->parameters, sizeof(double)*(size_t)tick->parameters);
            wire = *link;
            wire.stopped = 0;
            wire.fault = 0;
            try_own(measured);
        }
        leave_out("pauses and late ticks by the clock itself");
    }
    free(memory);
    free(segment);
    quote(sentence, sizeof sentence, first);
    quote(others, sizeof others, left_out);
    snprintf(words, size, "{\"passed\": %s, \"cases\": %ld, \"failures\": %ld, \"seconds\": %.4f, \"words\": \"%s\", \"not_tried\": \"%s\"}",
        failures ? "false" : "true", cases, failures, (double)(bl_now() - began)*1e-9, sentence, others);
    return bl_asked_to_end || stops != bl_asked_to_stop ? -1 : failures == 0;
}
