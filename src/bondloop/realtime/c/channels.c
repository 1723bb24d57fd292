#include "channels.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HALVINGS 64 /* as many as a double has bits to find, and some */

static double held[BL_MOST_CHANNELS]; /* by the filters, and by what is only recorded */
static int holds[BL_MOST_CHANNELS];
static int is_open; /* a link with channels: others carry values in SI units, and none of this is for them */

static double polynomial(const bl_channel *c, double raw)
{
    double sum = 0.0;
    for (long k = c->count - 1; k >= 0; --k)
        sum = sum*raw + c->value[k];
    return sum;
}

/* Straight lines between points, whose x rise, or fall; x is within them. */
static double interpolate(const double *xs, const double *ys, long count, double x)
{
    const int rises = xs[count - 1] > xs[0];
    long low = 0, high = count - 1;
    while (high - low > 1) {
        const long middle = (low + high)/2;
        if ((xs[middle] <= x) == rises)
            low = middle;
        else
            high = middle;
    }
    const double share = (x - xs[low])/(xs[high] - xs[low]);
    return (1.0 - share)*ys[low] + share*ys[high];
}

static double calibrated(const bl_channel *c, double raw)
{
    return c->raw != NULL ? interpolate(c->raw, c->value, c->count, raw) : polynomial(c, raw);
}

double bl_channel_value(const bl_channel *c, double raw)
{
    if (!(raw >= c->low && raw <= c->high) || !bl_is_finite(raw))
        return NAN;
    return calibrated(c, raw) - c->zero;
}

/* Python has seen to it that the calibration of an output rises or falls all the way. */
static double solved(const bl_channel *c, double value)
{
    double low = c->low, high = c->high;
    const int rises = calibrated(c, high) > calibrated(c, low);
    if (!(value >= calibrated(c, rises ? low : high) && value <= calibrated(c, rises ? high : low)))
        return NAN;
    if (c->raw != NULL)
        return interpolate(c->value, c->raw, c->count, value);
    for (int i = 0; i < HALVINGS; ++i) {
        const double middle = low + 0.5*(high - low);
        if ((calibrated(c, middle) < value) == rises)
            low = middle;
        else
            high = middle;
    }
    return low + 0.5*(high - low);
}

double bl_channel_raw(const bl_channel *c, double command)
{
    if (!(command >= c->least && command <= c->most) || !bl_is_finite(command))
        return NAN;
    const double value = command + c->zero;
    const double raw = c->raw == NULL && c->count == 2 ? (value - c->value[0])/c->value[1] : solved(c, value);
    return raw >= c->low && raw <= c->high ? raw : NAN;
}

int bl_channels_open(bl_link_config *config)
{
    memset(holds, 0, sizeof holds);
    config->fault = 0;
    is_open = 0;
    if (bl_lab.outputs == 0 && bl_lab.inputs == 0)
        snprintf(config->message, sizeof config->message,
            "%.80s: this link needs a channels file, which says what is at which channel (--channels FILE)",
            config->address);
    else if (bl_lab.outputs != config->commands || bl_lab.inputs != config->measured)
        snprintf(config->message, sizeof config->message,
            "%.80s: the channels are for %ld commands and %ld measured values; the test has %ld and %ld",
            config->address, bl_lab.outputs, bl_lab.inputs, config->commands, config->measured);
    else {
        for (long i = 0; i < bl_lab.outputs; ++i)
            if (bl_is_nan(bl_channel_raw(&bl_lab.output[i], config->safe[i]))) {
                snprintf(config->message, sizeof config->message,
                    "the safe command, %.6g %s, is beyond the limits or the range of %s at channel %s", config->safe[i]/bl_lab.output[i].one,
                    bl_lab.output[i].unit, bl_lab.output[i].name, bl_lab.output[i].at);
                return BL_LINK_FAILED;
            }
        is_open = 1;
        return 0;
    }
    return BL_LINK_FAILED;
}

int bl_channels_volts(bl_link_config *config)
{
    const long outputs = bl_lab.outputs + bl_lab.idles;
    for (long i = 0; i < outputs + bl_lab.inputs; ++i) {
        const bl_channel *c = i < outputs ? &bl_lab.output[i] : &bl_lab.input[i - outputs];
        if (c->type < 0 && strcmp(c->raw_unit, "V") == 0)
            continue;
        snprintf(config->message, sizeof config->message,
            "%.60s: the board gives and takes volts; found the channel %.60s %s: calibrate it from volts, without a type",
            config->address, c->name, c->type < 0 ? "with another raw unit" : "with the type of a field");
        return BL_LINK_FAILED;
    }
    for (long i = 0; i < bl_lab.faults; ++i)
        if (bl_lab.fault[i].type >= 0) {
            snprintf(config->message, sizeof config->message,
                "%.60s: a fault is at a digital line, without a type; found one at %.60s", config->address,
                bl_lab.fault[i].at);
            return BL_LINK_FAILED;
        }
    return 0;
}

void bl_channels_measured(const double *raw, double *measured)
{
    for (long i = 0; i < bl_lab.inputs; ++i) {
        const bl_channel *c = &bl_lab.input[i];
        const double within = c->recorded ? fmin(fmax(raw[i], c->low), c->high) : raw[i]; /* fmax(NaN, x) is x */
        double value = bl_is_nan(raw[i]) ? NAN : bl_channel_value(c, within);
        if (!bl_is_finite(value) && c->recorded)
            value = held[i];
        else if (bl_is_finite(value) && c->keep > 0 && holds[i])
            value += c->keep*(held[i] - value);
        if (bl_is_finite(value)) {
            held[i] = value;
            holds[i] = 1;
        }
        measured[i] = value;
    }
}

int bl_channels_commands(bl_link_config *config, const double *commands, double *raw)
{
    int wrong = 0;
    for (long i = 0; i < bl_lab.outputs; ++i) {
        const bl_channel *c = &bl_lab.output[i];
        raw[i] = bl_channel_raw(c, commands[i]);
        if (!bl_is_nan(raw[i]))
            continue;
        wrong = -1;
        if (!(commands[i] >= c->least && commands[i] <= c->most))
            bl_link_fault(config, BL_FAULT_OUTPUT, "%s of %.6g %s is beyond its limits, %.6g to %.6g %s; it was held",
                c->name, commands[i]/c->one, c->unit, c->least/c->one, c->most/c->one, c->unit);
        else
            bl_link_fault(config, BL_FAULT_OUTPUT, "%s of %.6g %s is beyond the range of channel %s, %.6g to %.6g %s; it was held",
                c->name, commands[i]/c->one, c->unit, c->at, c->low, c->high, c->raw_unit);
    }
    return wrong;
}

int bl_channels_heed(int heed)
{
    const int before = is_open;
    is_open = heed;
    return before;
}

int bl_channels_refuse(bl_link_config *config, const double *commands)
{
    double raw[BL_MOST_CHANNELS];
    return is_open ? bl_channels_commands(config, commands, raw) : 0;
}

int bl_channels_stand(bl_link_config *config, const double *measured)
{
    for (long i = 0; is_open && i < bl_lab.outputs + bl_lab.idles; ++i) {
        const bl_channel *c = &bl_lab.output[i];
        if (c->feedback < 0 || !bl_is_nan(bl_channel_raw(c, measured[c->feedback])))
            continue;
        double low = c->least, high = c->most;
        if (bl_is_finite(c->low) && bl_is_finite(c->high)) {
            const double one = calibrated(c, c->low) - c->zero, other = calibrated(c, c->high) - c->zero;
            low = fmax(low, fmin(one, other));
            high = fmin(high, fmax(one, other));
        }
        bl_link_fault(config, BL_FAULT_OUTPUT, "%.30s stands at %.5g %s; it may be at %.5g to %.5g: move it back by hand or by its controller",
            c->name, measured[c->feedback]/c->one, c->unit, low/c->one, high/c->one);
        return -1;
    }
    return 0;
}

void bl_channels_hold(const double *measured, double *raw)
{
    for (long i = 0; i < bl_lab.outputs + bl_lab.idles; ++i) {
        const bl_channel *c = &bl_lab.output[i];
        const double held_at = c->feedback < 0 ? NAN : bl_channel_raw(c, measured[c->feedback]);
        if (!bl_is_nan(held_at))
            raw[i] = held_at;
    }
}

void bl_link_fault(bl_link_config *config, long code, const char *format, ...)
{
    if (config->fault != 0)
        return;
    va_list words;
    va_start(words, format);
    vsnprintf(config->fault_words, sizeof config->fault_words, format, words);
    va_end(words);
    config->fault = code;
}

void bl_channels_fault(bl_link_config *config, const bl_fault_source *source, uint32_t word)
{
    const int whole = source->bit < 0;
    const int is_wrong = whole ? word != 0 : (int)(word >> source->bit & 1u) == source->active;
    if (!is_wrong)
        return;
    if (source->unpowered)
        config->stopped = 1;
    bl_link_fault(config, whole ? (long)word : source->code, "%s", source->words);
}
