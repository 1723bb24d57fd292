#define _GNU_SOURCE
#include "rig.h"

#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"
#include "platform.h"

#define IDLE_NS 5000000  /* without a session, or after this in lock-step, the rig sleeps between looks */
#define WAIT_NS 2000000
#define SPINS 100 /* looks before others may use the processor: the loop, where it has the same one */
#define RELAY 0.05 /* s that it stays powered when the enable is withdrawn, as the relay of a machine would let it */

static bl_model model;
static double *commands, *given, *measured, *kept;
static long ratio = 1;
static int64_t shown;
static const bl_rig_options *options;
static bl_port_config *wire;
static int moves;              /* it has been commanded something while it was powered */
static int64_t unpowered;      /* ticks since the enable was withdrawn */
static int64_t stopped, until; /* measurements since the emergency stop was pressed; of which until it was let go of */

int bl_rig_accepts(double period)
{
    const long r = bl_model_ratio(bl_rig, period);
    if (r > 0)
        ratio = r;
    return r > 0;
}

/* A line for whoever started the rig; left out where nobody has read those before: it must not wait for that. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    if (poll(&out, 1, 0) != 1 || !(out.revents & POLLOUT))
        return;
    va_list words;
    va_start(words, format);
    vprintf(format, words);
    va_end(words);
    fflush(stdout);
}

static void measure(void)
{
    const long n = model.tick->measured;
    bl_model_measure(&model, measured);
    wire->pressed = options->fault == BL_FAULT_STOP && shown >= options->fault_at;
    stopped += wire->pressed;
    if (options->fault != BL_FAULT_NONE && options->fault != BL_FAULT_STOP && shown >= options->fault_at && n > 0) {
        if (options->fault == BL_FAULT_FROZEN)
            memcpy(measured, kept, sizeof(double)*(size_t)n);
        else
            measured[0] = options->fault == BL_FAULT_NAN ? NAN : INFINITY;
    } else {
        memcpy(kept, measured, sizeof(double)*(size_t)n);
    }
    shown += 1;
}

/* Whether it is powered: else it stays at the last command that it has obeyed. */
static int is_live(void)
{
    if (wire->withdrawn && stopped > 0 && until == 0)
        until = stopped;
    unpowered = wire->withdrawn ? unpowered + 1 : 0;
    return !wire->pressed && (double)unpowered*model.tick->period <= RELAY;
}

/* Waits for each command and answers it. */
static void play_lock_step(const bl_port *port)
{
    int64_t heard = bl_now();
    for (long spins = 0; !bl_asked_to_end; ++spins) {
        const int64_t idle = spins%64 == 63 ? bl_now() - heard : 0;
        const int what = port->receive(commands, idle > IDLE_NS ? WAIT_NS : 0);
        if (what == BL_PORT_CLOSED || idle > options->timeout_ns)
            return;
        if (what == BL_PORT_COMMAND) {
            if (is_live()) {
                memcpy(given, commands, sizeof(double)*(size_t)model.tick->commands);
                moves = 1;
            }
            for (long i = 0; moves && i < ratio; ++i)
                bl_model_advance(&model, given);
            measure();
        }
        if (what == BL_PORT_OPENED)
            port->accept(measured);
        else if (what == BL_PORT_COMMAND || what == BL_PORT_AGAIN)
            port->publish(measured);
        if (what != BL_PORT_NOTHING) {
            heard = bl_now();
            spins = 0;
        } else if (spins > SPINS) {
            sched_yield();
        } else {
            bl_relax();
        }
    }
}

/* Follows its own clock: at the end of each period it computes what happened in it, with the newest command. */
static void play_real_time(const bl_port *port)
{
    const int64_t period = (int64_t)(model.tick->period*1e9 + 0.5), half = options->timeout_ns/2;
    const int64_t spin = options->spin_ns < period/2 ? options->spin_ns : period/2;
    int64_t heard = bl_now(), next = (heard/period + 1)*period;
    int resting = 0;   /* on its way to rest, from which no command calls it back: that would be a jump */
    while (!bl_asked_to_end) {
        bl_sleep_until(next, spin);
        const int what = port->receive(resting ? NULL : commands, 0);
        if (!resting && (what == BL_PORT_COMMAND || what == BL_PORT_ALIVE))
            heard = bl_now();
        else if (what == BL_PORT_OPENED)
            port->accept(measured);
        const int live = is_live();
        moves |= what == BL_PORT_COMMAND && live; /* before it stays where it is, and only measures */
        /* Without a loop the actuators go to rest, in the rig's own time: all the way, also when it is late. */
        const int64_t silence = next - heard;
        if (what == BL_PORT_CLOSED || silence > options->timeout_ns)
            return;
        resting |= moves && silence > half;
        const double share = silence <= half ? 1.0 : 1.0 - (double)(silence - half)/(double)half;
        for (long i = 0; live && i < model.tick->commands; ++i)
            given[i] = share*commands[i] + (1.0 - share)*wire->safe[i];
        if (moves)
            bl_model_advance(&model, given);
        measure();
        port->publish(measured);
        next += period;
        const int64_t late = bl_now() - next;
        if (late > 0) /* time goes on for a rig even where its computer was late: catch up, but not for ever */
            next += late/period > 100 ? late/period*period : 0;
    }
}

int bl_rig_play(
    const bl_interface *tick, const bl_port *port, bl_port_config *config, const bl_rig_options *given_options)
{
    options = given_options;
    wire = config;
    commands = calloc((size_t)tick->commands + 1, sizeof(double));
    given = calloc((size_t)tick->commands + 1, sizeof(double));
    measured = calloc((size_t)tick->measured + 1, sizeof(double));
    kept = calloc((size_t)tick->measured + 1, sizeof(double));
    if (!commands || !given || !measured || !kept || bl_model_make(&model, tick))
        return 1;
    while (!bl_asked_to_end && (options->parent == 0 || getppid() == (pid_t)options->parent)) {
        if (port->receive(commands, WAIT_NS) != BL_PORT_OPENED)
            continue;
        bl_model_reset(&model);
        shown = stopped = until = 0;
        moves = 0;
        unpowered = INT32_MAX; /* not powered before it is enabled */
        memset(port->counts, 0, sizeof *port->counts);
        measure();
        port->accept(measured);
        say("a loop came: %s, period %g s\n", port->lock_step() ? "lock-step" : "real time", (double)ratio*tick->period);
        if (port->lock_step()) {
            play_lock_step(port);
        } else {
            bl_priority(options->priority);
            play_real_time(port);
            bl_priority(0);
        }
        port->release();
        say("the loop has gone: %llu commands, %llu lost\n",
            (unsigned long long)(port->counts->received - port->counts->duplicated),
            (unsigned long long)port->counts->lost);
        if (until > 0)
            say("the enable was withdrawn %lld ticks after the emergency stop\n", (long long)until);
        if (options->once)
            break;
    }
    return 0;
}
