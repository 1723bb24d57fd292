#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int bl_model_make(bl_model *model, const bl_interface *tick)
{
    model->tick = tick;
    model->state = calloc((size_t)tick->states + 1, sizeof(double));
    model->copy = calloc((size_t)tick->states + 1, sizeof(double));
    model->in = calloc((size_t)tick->inputs + 1, sizeof(double));
    model->channels = calloc((size_t)tick->channels + 1, sizeof(double));
    if (!model->state || !model->copy || !model->in || !model->channels)
        return -1;
    bl_model_reset(model);
    return 0;
}

void bl_model_reset(bl_model *model)
{
    model->k = 0;
    memcpy(model->state, model->tick->initial, sizeof(double)*(size_t)model->tick->states);
    memset(model->in, 0, sizeof(double)*(size_t)model->tick->inputs);
}

static int execute(bl_model *model, double *state)
{
    const bl_interface *tick = model->tick;
    const double k = (double)model->k;
    return tick->tick_once(state, tick->parameter_values, model->in, k*tick->period, k, model->channels);
}

int bl_model_measure(bl_model *model, double *measured)
{
    const bl_interface *tick = model->tick;
    memcpy(model->copy, model->state, sizeof(double)*(size_t)tick->states);
    const int status = execute(model, model->copy);
    for (long i = 0; i < tick->measured; ++i)
        measured[i] = model->channels[tick->measured_at[i]];
    return status;
}

int bl_model_advance(bl_model *model, const double *commands)
{
    const bl_interface *tick = model->tick;
    for (long i = 0; i < tick->commands; ++i)
        model->in[tick->command_at[i]] = commands[i];
    const int status = execute(model, model->state);
    model->k += 1;
    return status;
}

long bl_model_ratio(const bl_interface *tick, double period)
{
    const double ratio = period/tick->period, whole = floor(ratio + 0.5);
    return whole >= 1 && fabs(ratio - whole) < 1e-6*whole ? (long)whole : 0;
}
