#include "fmu.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN = 64 }; /* characters of the token in front of a serialised state */

int bl_refuse(const bl_instance *instance, int status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (instance->log != NULL)
        instance->log(instance, status, text);
    return status;
}

size_t bl_saved(const bl_fmu *fmu)
{
    return 2 + (size_t)fmu->size + (size_t)fmu->tables + (size_t)fmu->inputs + (size_t)fmu->parameters;
}

static double *zeros(size_t count)
{
    return calloc(count + 1, sizeof(double));
}

/* Reads the tabulated signals: little-endian doubles, a row for each tick. */
static int read_table(bl_instance *instance, const char *resources)
{
    const bl_fmu *fmu = instance->fmu;
    const size_t count = (size_t)fmu->tables*(size_t)fmu->rows;
    if (count == 0)
        return BL_OK;
    const char *folder = resources == NULL ? "" : resources;
    const size_t length = strlen(folder);
    char *path = malloc(length + 16);
    if (path == NULL)
        return bl_refuse(instance, BL_ERROR, "there is not enough memory");
    sprintf(path, "%s%ssignals.f64", folder, length > 0 && folder[length - 1] == '/' ? "" : "/");
    FILE *file = fopen(path, "rb");
    size_t done = 0;
    unsigned char bytes[8];
    instance->table = zeros(count);
    while (file != NULL && instance->table != NULL && done < count && fread(bytes, 8, 1, file) == 1) {
        uint64_t word = 0;
        for (int i = 7; i >= 0; --i)
            word = word << 8 | bytes[i];
        memcpy(instance->table + done++, &word, 8);
    }
    if (file != NULL)
        fclose(file);
    const int status = done == count ? BL_OK
        : bl_refuse(instance, BL_ERROR, "%s must hold %zu doubles of tabulated signals; %zu were read", path, count, done);
    free(path);
    return status;
}

bl_instance *bl_make(const char *name, const char *token, const char *resources, bl_logger log,
    void *environment, void (*callback)(void))
{
    const bl_fmu *fmu = &bl_definition;
    bl_instance *instance = calloc(1, sizeof *instance);
    if (instance == NULL)
        return NULL;
    *instance = (bl_instance){.fmu = fmu, .log = log, .environment = environment, .callback = callback};
    const char *called = name == NULL ? "" : name;
    instance->name = malloc(strlen(called) + 1);
    instance->saved = zeros(bl_saved(fmu));
    instance->next = zeros((size_t)fmu->size);
    instance->channels = zeros((size_t)fmu->channels);
    instance->seeds = zeros((size_t)(2*fmu->inputs + fmu->states));
    instance->slopes = zeros((size_t)fmu->channels);
    instance->tangent = zeros((size_t)fmu->tangent_size);
    if (!instance->name || !instance->saved || !instance->next || !instance->channels || !instance->seeds ||
        !instance->slopes || !instance->tangent) {
        bl_free(instance);
        return NULL;
    }
    strcpy(instance->name, called);
    if (token == NULL || strcmp(token, fmu->token) != 0) {
        bl_refuse(instance, BL_ERROR, "this binary belongs to the FMU %s; the model description says %s", fmu->token,
            token == NULL ? "nothing" : token);
        bl_free(instance);
        return NULL;
    }
    instance->k = instance->saved;
    instance->time = instance->saved + 1;
    instance->state = instance->saved + 2;
    instance->in = instance->state + fmu->size;
    instance->parameters = instance->in + fmu->tables + fmu->inputs;
    if (read_table(instance, resources) != BL_OK) {
        bl_free(instance);
        return NULL;
    }
    bl_reset(instance);
    return instance;
}

void bl_free(bl_instance *instance)
{
    if (instance == NULL)
        return;
    free(instance->name);
    free(instance->saved);
    free(instance->next);
    free(instance->channels);
    free(instance->table);
    free(instance->seeds);
    free(instance->slopes);
    free(instance->tangent);
    free(instance);
}

static void copy(double *to, const double *from, long count)
{
    memcpy(to, from, sizeof(double)*(size_t)count);
}

void bl_reset(bl_instance *instance)
{
    const bl_fmu *fmu = instance->fmu;
    *instance->k = *instance->time = 0.0;
    copy(instance->state, fmu->initial, fmu->size);
    memset(instance->in, 0, sizeof(double)*(size_t)fmu->tables);
    copy(instance->in + fmu->tables, fmu->input_values, fmu->inputs);
    copy(instance->parameters, fmu->parameter_values, fmu->parameters);
    instance->fresh = instance->running = 0;
}

int bl_start(bl_instance *instance, double time)
{
    if (instance->fmu->period > 0 && time != 0)
        return bl_refuse(instance, BL_ERROR, "a test begins at t = 0; found a start time of %g s", time);
    *instance->time = time;
    instance->fresh = 0;
    return BL_OK;
}

int bl_evaluate(bl_instance *instance)
{
    const bl_fmu *fmu = instance->fmu;
    if (instance->fresh)
        return BL_OK;
    const double k = *instance->k;
    if (fmu->tables > 0) {
        if (k >= (double)fmu->rows)
            return bl_refuse(instance, BL_ERROR,
                "the tabulated signals end at t = %g s; export the FMU for more seconds", (double)(fmu->rows - 1)*fmu->period);
        copy(instance->in, instance->table + (long)k*fmu->tables, fmu->tables);
    }
    copy(instance->next, instance->state, fmu->size);
    instance->status = fmu->tick_once(instance->next, instance->parameters, instance->in,
        fmu->period > 0 ? k*fmu->period : *instance->time, k, instance->channels);
    instance->fresh = 1;
    return BL_OK;
}

/* Says why the values of a tick cannot be trusted. */
static int untrusted(const bl_instance *instance)
{
    const bl_fmu *fmu = instance->fmu;
    const double t = *instance->time;
    for (long i = 0; i < fmu->channels; ++i)
        if (!(fabs(instance->channels[i]) <= fmu->bound[i]))
            return bl_refuse(instance, BL_ERROR, "stopped at t = %g s: channel '%s' is %g, and at most %g is allowed", t,
                fmu->channel_names[i], instance->channels[i], fmu->bound[i]);
    return bl_refuse(instance, BL_ERROR, "stopped at t = %g s: an algebraic loop has no solution (status %d)", t,
        instance->status);
}

/* Where a value lies; NULL for what there is none of. `group` is 't', 'i', 'c', 'p' or 's'. */
static double *place(const bl_instance *instance, unsigned reference, char *group, long *index)
{
    const bl_fmu *fmu = instance->fmu;
    *group = 't';
    *index = 0;
    if (reference == 0)
        return instance->time;
    const struct { char group; long count; double *values; } groups[] = {
        {'i', fmu->inputs, instance->in + fmu->tables}, {'c', fmu->channels, instance->channels},
        {'p', fmu->parameters, instance->parameters}, {'s', fmu->states, instance->state}};
    long rest = (long)reference - 1;
    for (size_t i = 0; i < sizeof groups/sizeof groups[0]; ++i) {
        if (rest < groups[i].count) {
            *group = groups[i].group;
            *index = rest;
            return groups[i].values + rest;
        }
        rest -= groups[i].count;
    }
    return NULL;
}

int bl_get(bl_instance *instance, const unsigned *references, size_t count, double *values)
{
    for (size_t i = 0; i < count; ++i) {
        char group;
        long index;
        const double *value = place(instance, references[i], &group, &index);
        if (value == NULL)
            return bl_refuse(instance, BL_ERROR, "there is no variable with the value reference %u", references[i]);
        if (group == 'c' && bl_evaluate(instance) != BL_OK)
            return BL_ERROR;
        values[i] = *value;
    }
    return BL_OK;
}

int bl_set(bl_instance *instance, const unsigned *references, size_t count, const double *values)
{
    const bl_fmu *fmu = instance->fmu;
    for (size_t i = 0; i < count; ++i) {
        char group;
        long index;
        double *value = place(instance, references[i], &group, &index);
        const double new = values[i];
        if (value == NULL || group == 'c' || group == 't')
            return bl_refuse(instance, BL_ERROR, "the variable with the value reference %u cannot be set", references[i]);
        if (group == 's' && instance->running && fmu->period > 0)
            return bl_refuse(instance, BL_ERROR, "states can be set before the initialisation only");
        if (group == 'p' && fmu->least[index] == fmu->most[index] && new != *value)
            return bl_refuse(instance, BL_ERROR, "parameter '%s' is worked into the matrices of a step, and stays %g; "
                "write the FMU of a test with another value", fmu->parameter_names[index], *value);
        if (group == 'p' && !(new >= fmu->least[index] && new <= fmu->most[index]))
            return bl_refuse(instance, BL_ERROR, "parameter '%s' must be at least %g and at most %g; found %g",
                fmu->parameter_names[index], fmu->least[index], fmu->most[index], new);
        if (!(fabs(new) <= DBL_MAX))
            return bl_refuse(instance, BL_ERROR, "'%s' must be a finite number; found %g",
                group == 'i' ? fmu->input_names[index] : "a state", new);
        if (new != *value || signbit(new) != signbit(*value))
            instance->fresh = 0;
        *value = new;
    }
    return BL_OK;
}

static int tick(bl_instance *instance)
{
    const bl_fmu *fmu = instance->fmu;
    if (bl_evaluate(instance) != BL_OK)
        return BL_ERROR;
    if (instance->status != 0)
        return untrusted(instance);
    copy(instance->state, instance->next, fmu->size);
    *instance->k += 1;
    *instance->time = *instance->k*fmu->period;
    instance->fresh = 0;
    return BL_OK;
}

int bl_step(bl_instance *instance, double time, double size)
{
    const bl_fmu *fmu = instance->fmu;
    const double tolerance = 1e-6*fmu->period + 8*DBL_EPSILON*fabs(time), ticks = rint(size/fmu->period);
    if (!(fabs(time - *instance->time) <= tolerance))
        return bl_refuse(instance, BL_ERROR, "the next step begins at t = %.9g s; found %.9g s", *instance->time, time);
    if (!(ticks >= 1 && ticks < 1e15 && fabs(size - ticks*fmu->period) <= tolerance + 8*DBL_EPSILON*size))
        return bl_refuse(instance, BL_ERROR, "a step takes %.9g s, the period of the test, once or several times; "
            "found %.9g s", fmu->period, size);
    for (double i = 0; i < ticks; ++i) /* what is not tabulated is held */
        if (tick(instance) != BL_OK)
            return BL_ERROR;
    return BL_OK;
}

int bl_slopes(bl_instance *instance, const unsigned *unknown, size_t unknowns, const unsigned *known, size_t knowns,
    const double *seed, double *sensitivity)
{
    const bl_fmu *fmu = instance->fmu;
    if (fmu->tangent_once == NULL)
        return bl_refuse(instance, BL_ERROR, "this FMU has no directional derivatives");
    char group;
    long index;
    copy(instance->seeds, instance->in, fmu->inputs);
    memset(instance->seeds + fmu->inputs, 0, sizeof(double)*(size_t)(fmu->inputs + fmu->states));
    for (size_t i = 0; i < knowns; ++i) {
        if (place(instance, known[i], &group, &index) == NULL || (group != 'i' && group != 's'))
            return bl_refuse(instance, BL_ERROR, "derivatives are with respect to inputs and states, not to %u", known[i]);
        instance->seeds[fmu->inputs + (group == 'i' ? index : fmu->inputs + index)] = seed[i];
    }
    copy(instance->tangent, fmu->tangent_initial, fmu->tangent_size);
    copy(instance->tangent, instance->state, fmu->states);
    if (fmu->tangent_once(instance->tangent, instance->parameters, instance->seeds, *instance->time, 0.0,
            instance->slopes) != 0)
        return bl_refuse(instance, BL_DISCARD, "the directional derivative does not exist at t = %g s", *instance->time);
    for (size_t i = 0; i < unknowns; ++i) {
        if (place(instance, unknown[i], &group, &index) == NULL || group != 'c')
            return bl_refuse(instance, BL_ERROR, "derivatives are of rates and outputs, not of %u", unknown[i]);
        sensitivity[i] = instance->slopes[index];
    }
    return BL_OK;
}

int bl_set_time(bl_instance *instance, double time)
{
    *instance->time = time;
    instance->fresh = 0;
    return BL_OK;
}

static int wrong_count(const bl_instance *instance, size_t count)
{
    if (count == (size_t)instance->fmu->states && instance->fmu->period == 0)
        return 0;
    bl_refuse(instance, BL_ERROR, "there are %ld continuous states; found %zu",
        instance->fmu->period == 0 ? instance->fmu->states : 0, count);
    return 1;
}

int bl_set_states(bl_instance *instance, const double *states, size_t count)
{
    if (wrong_count(instance, count))
        return BL_ERROR;
    copy(instance->state, states, instance->fmu->states);
    instance->fresh = 0;
    return BL_OK;
}

int bl_get_states(bl_instance *instance, double *states, size_t count)
{
    if (wrong_count(instance, count))
        return BL_ERROR;
    copy(states, instance->state, instance->fmu->states);
    return BL_OK;
}

int bl_rates(bl_instance *instance, double *rates, size_t count)
{
    if (wrong_count(instance, count) || bl_evaluate(instance) != BL_OK)
        return BL_ERROR;
    if (instance->status != 0)
        return bl_refuse(instance, BL_DISCARD, "the rates do not exist at t = %g s (status %d)", *instance->time,
            instance->status);
    copy(rates, instance->channels, instance->fmu->states);
    return BL_OK;
}

/* Loops that are solved by iteration start the next time from where they ended. */
int bl_accept(bl_instance *instance)
{
    const bl_fmu *fmu = instance->fmu;
    if (instance->fresh && fmu->size > fmu->states)
        copy(instance->state + fmu->states, instance->next + fmu->states, fmu->size - fmu->states);
    return BL_OK;
}

void *bl_snapshot(const bl_instance *instance, void *snapshot)
{
    const size_t size = sizeof(double)*bl_saved(instance->fmu);
    void *to = snapshot == NULL ? malloc(size) : snapshot;
    if (to != NULL)
        memcpy(to, instance->saved, size);
    return to;
}

void bl_restore(bl_instance *instance, const void *snapshot)
{
    memcpy(instance->saved, snapshot, sizeof(double)*bl_saved(instance->fmu));
    instance->fresh = 0;
}

size_t bl_serialised(const bl_fmu *fmu)
{
    return TOKEN + sizeof(double)*bl_saved(fmu);
}

int bl_serialise(const bl_instance *instance, const void *snapshot, void *bytes, size_t size)
{
    if (size < bl_serialised(instance->fmu))
        return bl_refuse(instance, BL_ERROR, "a state needs %zu bytes; found %zu", bl_serialised(instance->fmu), size);
    memset(bytes, 0, TOKEN);
    snprintf(bytes, TOKEN, "%s", instance->fmu->token);
    memcpy((char *)bytes + TOKEN, snapshot, sizeof(double)*bl_saved(instance->fmu));
    return BL_OK;
}

void *bl_deserialise(const bl_instance *instance, const void *bytes, size_t size, void *snapshot)
{
    char token[TOKEN] = "";
    snprintf(token, TOKEN, "%s", instance->fmu->token);
    if (size != bl_serialised(instance->fmu) || memcmp(bytes, token, strlen(token) + 1) != 0) {
        bl_refuse(instance, BL_ERROR, "the %zu bytes are no state of this FMU", size);
        return NULL;
    }
    const size_t own = sizeof(double)*bl_saved(instance->fmu);
    void *to = snapshot == NULL ? malloc(own) : snapshot;
    if (to != NULL)
        memcpy(to, (const char *)bytes + TOKEN, own);
    return to;
}
