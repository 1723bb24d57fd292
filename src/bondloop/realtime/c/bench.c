/* What the executive's numbers are compared with. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "executive.h"

void bl_bare(bl_segment *segment, const bl_options *options, int64_t cycles)
{
    const int64_t period = segment->period_ns;
    const int64_t spin = options->spin_ns < period/2 ? options->spin_ns : period/2;
    int64_t planned = (bl_now()/period + 2)*period;
    for (int64_t i = 0; i < cycles && !bl_asked_to_end; ++i) {
        bl_sleep_until(planned, spin);
        const int64_t wake = bl_now() - planned;
        const int64_t missed = wake/period;
        bl_histogram_add(&segment->wake, wake);
        segment->counts.cycles += 1;
        segment->counts.missed += (uint64_t)missed;
        planned += (missed + 1)*period; /* after a stall as the executive does: no cycle for deadlines gone by */
    }
    segment->state = BL_FINALIZED;
}

double bl_tick_cost(const bl_interface *tick, const bl_options *options, int64_t steps)
{
    double *state = calloc((size_t)tick->states + 1, sizeof(double));
    double *in = calloc((size_t)tick->inputs + 1, sizeof(double));
    double *channels = calloc((size_t)tick->channels + 1, sizeof(double));
    double cost = -1.0;
    if (state && in && channels && steps > 0) {
        memcpy(state, tick->initial, sizeof(double)*(size_t)tick->states);
        const int64_t began = bl_now();
        for (int64_t i = 0; i < steps; ++i) {
            const double k = (double)i;
            if (tick->tables > 0)
                memcpy(in, options->table + (i < options->table_rows ? i : options->table_rows - 1)*tick->tables,
                    sizeof(double)*(size_t)tick->tables);
            tick->tick_once(state, options->parameters, in, k*tick->period, k, channels);
        }
        cost = (double)(bl_now() - began)/(double)steps;
    }
    free(state);
    free(in);
    free(channels);
    return cost;
}
