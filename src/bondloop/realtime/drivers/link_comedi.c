/* A link to a data acquisition board through comedilib: the worked example of docs/realtime-driver.md.
 *
 *   comedi:///dev/comedi0?out=CHANNEL,SCALE[,OFFSET[,RANGE]]&in=CHANNEL,SCALE[,OFFSET[,RANGE]]
 *
 * One `out` for each command and one `in` for each measured value, in the order of the test's signals.
 * SCALE is in SI units per volt, OFFSET the value at 0 V, RANGE the board's number of the voltage range:
 *
 *   volts = (command - OFFSET)/SCALE          measured = OFFSET + SCALE*volts
 *
 * Three digital lines may follow, each once: &stop=LINE, high while the emergency stop is not pressed (so that a broken
 * wire is a pressed one), &beat=LINE, which toggles with every cycle in which the rig is enabled and is low otherwise,
 * and &enable=LINE, high while the rig is enabled.
 *
 * What is in the address is kept in the run file: the calibration of a test is on record with it.
 *
 *   comedi:///dev/comedi0
 *
 * With the device alone, all of that comes from the channels file, and faults of the controller may be at digital lines,
 * too. The board's range is the first that holds the channel's.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channels.h"
#include "comedilib.h"

#define MOST 64 /* channels each way */

typedef struct {
    unsigned channel, range;
    double scale, offset;
    lsampl_t steps;     /* largest number that the converter takes or gives */
    comedi_range *volts;
    const bl_channel *known; /* of the channels file; NULL: scale and offset are of the address */
} wire;

static comedi_t *board;
static bl_link_config *loop;
static int outputs, inputs, digital; /* numbers of the subdevices; -1: none */
static wire out[MOST], in[MOST];
static long out_count, in_count;
static int commanded; /* the outputs have been written to */
static int from_file; /* what is at which channel is said by the channels file */

enum { STOP, BEAT, ENABLE, LINES };
static const char *const line_words[LINES] = {"stop=", "beat=", "enable="};
static long line[LINES]; /* numbers of the digital lines; -1: none */

/* ------------------------------------------------------------------ open: all that may fail, block or allocate */

static int refuse(bl_link_config *config, const char *what, const char *found)
{
    snprintf(config->message, sizeof config->message, "comedi://%.80s: %s%.100s", config->address, what, found);
    return BL_LINK_FAILED;
}

/* Reads "CHANNEL,SCALE,OFFSET,RANGE", the last two optional; 0, or -1 if it is something else. */
static int read_wire(char *text, wire *made)
{
    double number[4] = {0.0, 0.0, 0.0, 0.0};
    int count = 0;
    for (char *rest = text; count < 4; ++count, ++rest) {
        char *end;
        number[count] = strtod(rest, &end);
        if (end == rest || !bl_is_finite(number[count]))
            return -1;
        rest = end;
        if (*rest == '\0')
            break;
        if (*rest != ',')
            return -1;
    }
    if (count < 1 || count > 3 || number[1] == 0.0 || number[0] != floor(number[0])
        || number[3] != floor(number[3]) || fabs(number[0] - 500) > 500 || fabs(number[3] - 500) > 500)
        return -1;
    *made = (wire){.channel = (unsigned)number[0], .scale = number[1], .offset = number[2],
        .range = (unsigned)number[3]};
    return 0;
}

/* Reads "stop=LINE" and the like; 0, 1 if it is something else, or -1 if it is wrong. */
static int read_line(const char *word)
{
    for (int i = 0; i < LINES; ++i) {
        const size_t length = strlen(line_words[i]);
        if (strncmp(word, line_words[i], length) != 0)
            continue;
        char *end;
        const long number = strtol(word + length, &end, 10);
        if (end == word + length || *end != '\0' || number < 0 || number > 1000 || line[i] >= 0)
            return -1;
        line[i] = number;
        return 0;
    }
    return 1;
}

/* Splits the address (which it changes) at ? and &; 0, or an error. */
static int read_address(bl_link_config *config, char *address)
{
    out_count = in_count = 0;
    for (int i = 0; i < LINES; ++i)
        line[i] = -1;
    char *rest = strchr(address, '?');
    if (rest != NULL)
        *rest++ = '\0';
    for (char *word = rest; word != NULL; word = rest) {
        rest = strchr(word, '&');
        if (rest != NULL)
            *rest++ = '\0';
        const int digit = read_line(word);
        if (digit < 0)
            return refuse(config, "expected stop=, beat= or enable=LINE, each once; found ", word);
        if (digit == 0)
            continue;
        const int is_out = strncmp(word, "out=", 4) == 0, is_in = strncmp(word, "in=", 3) == 0;
        if ((!is_out && !is_in) || (is_out ? out_count : in_count) == MOST
            || read_wire(word + (is_out ? 4 : 3), is_out ? &out[out_count] : &in[in_count]))
            return refuse(config, "expected out= or in=CHANNEL,SCALE[,OFFSET[,RANGE]]; found ", word);
        out_count += is_out;
        in_count += is_in;
    }
    if (out_count == config->commands && in_count == config->measured)
        return 0;
    char found[96];
    snprintf(found, sizeof found, "%ld and %ld, found %ld out= and %ld in=", config->commands, config->measured,
        out_count, in_count);
    return refuse(config, "the test's commands and measured values are ", found);
}

/* Reads a number of a channel or line; -1 if it is none. */
static long number_of(const char *text)
{
    char *end;
    const long number = strtol(text, &end, 10);
    return end == text || *end != '\0' || number < 0 || number > 1000 ? -1 : number;
}

/* Takes the wires from the channels file; 0, or an error. */
static int read_file(bl_link_config *config)
{
    if (bl_channels_open(config) || bl_channels_volts(config))
        return BL_LINK_FAILED;
    if (bl_lab.outputs > MOST || bl_lab.inputs > MOST)
        return refuse(config, "too many channels", "");
    out_count = bl_lab.outputs;
    in_count = bl_lab.inputs;
    for (long i = 0; i < out_count + in_count; ++i) {
        const bl_channel *c = i < out_count ? &bl_lab.output[i] : &bl_lab.input[i - out_count];
        const long channel = number_of(c->at);
        if (channel < 0)
            return refuse(config, "expected the number of a channel; found ", c->at);
        *(i < out_count ? &out[i] : &in[i - out_count]) = (wire){.channel = (unsigned)channel, .known = c};
    }
    const char *const words[LINES] = {bl_lab.stop, bl_lab.beat, bl_lab.enable};
    for (int i = 0; i < LINES; ++i) {
        line[i] = words[i] == NULL ? -1 : number_of(words[i]);
        if (words[i] != NULL && line[i] < 0)
            return refuse(config, "expected the number of a digital line; found ", words[i]);
    }
    for (long i = 0; i < bl_lab.faults; ++i)
        if (number_of(bl_lab.fault[i].at) < 0)
            return refuse(config, "expected the number of a digital line; found ", bl_lab.fault[i].at);
    return 0;
}

/* The first range of the board that holds the channel's own; 0 where it has none. */
static unsigned range_for(int part, const wire *w, int ranges)
{
    for (int i = 0; i < ranges && w->known != NULL && bl_is_finite(w->known->low) && bl_is_finite(w->known->high); ++i) {
        const comedi_range *volts = comedi_get_range(board, (unsigned)part, w->channel, (unsigned)i);
        if (volts != NULL && volts->min <= w->known->low && volts->max >= w->known->high)
            return (unsigned)i;
    }
    return w->range;
}

/* Asks the board for what a channel can do; 0, or an error. */
static int know_channels(bl_link_config *config, int part, const char *word, wire *wires, long count)
{
    char found[96];
    for (long i = 0; i < count; ++i) {
        wire *w = &wires[i];
        const int channels = part < 0 ? 0 : comedi_get_n_channels(board, (unsigned)part);
        snprintf(found, sizeof found, "%s=%u, but the board has %d such channels", word, w->channel, channels);
        if (channels <= 0 || w->channel >= (unsigned)channels)
            return refuse(config, "there is no ", found);
        const int ranges = comedi_get_n_ranges(board, (unsigned)part, w->channel);
        w->range = range_for(part, w, ranges);
        snprintf(found, sizeof found, "range %u of %s=%u; the board has %d", w->range, word, w->channel, ranges);
        if (ranges <= 0 || w->range >= (unsigned)ranges)
            return refuse(config, "there is no ", found);
        w->volts = comedi_get_range(board, (unsigned)part, w->channel, w->range);
        w->steps = comedi_get_maxdata(board, (unsigned)part, w->channel);
        if (w->volts == NULL || w->volts->unit != UNIT_volt || w->steps == 0)
            return refuse(config, "no voltage converter: ", found);
    }
    return 0;
}

/* Makes the digital lines inputs and outputs, the latter low: not enabled; 0, or an error. */
static int know_lines(bl_link_config *config)
{
    for (int i = 0; i < LINES; ++i) {
        if (line[i] < 0)
            continue;
        const int lines = digital < 0 ? 0 : comedi_get_n_channels(board, (unsigned)digital);
        char what[96];
        snprintf(what, sizeof what, "%s%ld, but the board has %d such lines", line_words[i], line[i], lines);
        if (line[i] >= lines)
            return refuse(config, "there is no ", what);
        const unsigned way = i == STOP ? COMEDI_INPUT : COMEDI_OUTPUT;
        if (comedi_dio_config(board, (unsigned)digital, (unsigned)line[i], way) < 0
            || (i != STOP && comedi_dio_write(board, (unsigned)digital, (unsigned)line[i], 0) < 0))
            return refuse(config, "a digital line fails: ", comedi_strerror(comedi_errno()));
    }
    for (long i = 0; from_file && i < bl_lab.faults; ++i) {
        const long number = number_of(bl_lab.fault[i].at);
        if (digital < 0 || number >= comedi_get_n_channels(board, (unsigned)digital))
            return refuse(config, "there is no digital line for the fault: ", bl_lab.fault[i].words);
        if (comedi_dio_config(board, (unsigned)digital, (unsigned)number, COMEDI_INPUT) < 0)
            return refuse(config, "a digital line fails: ", comedi_strerror(comedi_errno()));
    }
    config->tells_stop = line[STOP] >= 0;
    return 0;
}

/* Whether the emergency stop is pressed: also where that cannot be read. */
static int is_pressed(void)
{
    unsigned is_high = 0;
    return line[STOP] >= 0
        && (comedi_dio_read(board, (unsigned)digital, (unsigned)line[STOP], &is_high) < 0 || !is_high);
}

/* What the lines say of the controller; one that cannot be read is a fault, too. */
static void look_for_faults(bl_link_config *config)
{
    config->fault = 0;
    for (long i = 0; from_file && i < bl_lab.faults; ++i) {
        const bl_fault_source *f = &bl_lab.fault[i];
        unsigned is_high = 0;
        if (comedi_dio_read(board, (unsigned)digital, (unsigned)number_of(f->at), &is_high) < 0)
            is_high = (unsigned)f->active;
        bl_channels_fault(config, f, is_high);
    }
}

/* Tries both lines, though one fails. */
static int write_enable(unsigned word)
{
    int wrong = 0;
    const unsigned bits[LINES] = {0, (word & BL_BEAT) != 0, (word & BL_ENABLE) != 0};
    for (int i = BEAT; i < LINES; ++i)
        if (line[i] >= 0 && comedi_dio_write(board, (unsigned)digital, (unsigned)line[i], bits[i]) < 0)
            wrong = -1;
    return wrong;
}

static int is_within(double volts, const wire *w)
{
    return volts >= w->volts->min && volts <= w->volts->max; /* not so for NaN */
}

static int read_all(double *measured)
{
    double raw[MOST];
    for (long i = 0; i < in_count; ++i) {
        const wire *w = &in[i];
        lsampl_t sample;
        if (comedi_data_read(board, (unsigned)inputs, w->channel, w->range, AREF_GROUND, &sample) < 0)
            return -1;
        /* At either end of its range comedilib gives NaN: a sensor there is broken or out of its range, and
           the executive trips. */
        raw[i] = comedi_to_phys(sample, w->volts, w->steps);
        if (!from_file)
            measured[i] = w->offset + w->scale*raw[i];
    }
    if (from_file)
        bl_channels_measured(raw, measured);
    return 0;
}

/* Goes on where a channel fails: that must not keep the others from their safe value. */
static int write_all(const double *commands)
{
    double raw[MOST];
    int wrong = from_file ? bl_channels_commands(loop, commands, raw) : 0;
    for (long i = 0; i < out_count; ++i) {
        const wire *w = &out[i];
        const double volts = from_file ? raw[i] : (commands[i] - w->offset)/w->scale;
        if (!is_within(volts, w)) {
            wrong = -1; /* the board would clip it in silence: rather hold, and trip */
            continue;
        }
        const lsampl_t sample = comedi_from_phys(volts, w->volts, w->steps);
        if (comedi_data_write(board, (unsigned)outputs, w->channel, w->range, AREF_GROUND, sample) < 0)
            wrong = -1;
    }
    return wrong;
}

static int link_open(bl_link_config *config, double *measured)
{
    char address[1024];
    if ((size_t)snprintf(address, sizeof address, "%s", config->address) >= sizeof address)
        return refuse(config, "the address is too long", "");
    from_file = strchr(address, '?') == NULL && bl_lab.outputs + bl_lab.inputs > 0;
    if (from_file ? read_file(config) : read_address(config, address))
        return BL_LINK_FAILED;
    board = comedi_open(address);
    if (board == NULL)
        return refuse(config, "cannot be opened: ", comedi_strerror(comedi_errno()));
    outputs = comedi_find_subdevice_by_type(board, COMEDI_SUBD_AO, 0);
    inputs = comedi_find_subdevice_by_type(board, COMEDI_SUBD_AI, 0);
    digital = comedi_find_subdevice_by_type(board, COMEDI_SUBD_DIO, 0);
    if (know_channels(config, outputs, "out", out, out_count) || know_channels(config, inputs, "in", in, in_count))
        return BL_LINK_FAILED;
    if (comedi_lock(board, (unsigned)outputs) < 0 || (in_count > 0 && comedi_lock(board, (unsigned)inputs) < 0)) {
        refuse(config, "another program uses the board; end it first", "");
        return BL_LINK_BUSY;
    }
    for (long i = 0; i < out_count && !from_file; ++i) {
        if (!is_within((config->safe[i] - out[i].offset)/out[i].scale, &out[i]))
            return refuse(config, "the safe command is beyond the range of its output", "");
    }
    if (know_lines(config))
        return BL_LINK_FAILED;
    config->stopped = is_pressed();
    look_for_faults(config);
    loop = config;
    commanded = 0; /* until the first command the outputs stay as they were found */
    if (read_all(measured))
        return refuse(config, "does not convert: ", comedi_strerror(comedi_errno()));
    return BL_LINK_FRESH;
}

/* ------------------------------------------------------------------------------ exchange and close: every tick */

static int link_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    const int sends = commands != NULL || measured == NULL;
    int wrong = sends && !loop->enable && write_enable(0); /* withdrawn before anything else is written */
    if (commands != NULL) {
        counts->sent += 1;
        commanded = 1;
        wrong |= write_all(commands);
    }
    wrong |= sends && loop->enable && write_enable(loop->enable); /* given when the command is there */
    if (wrong)
        return BL_LINK_LOST;
    if (measured == NULL)
        return BL_LINK_OLD;
    loop->stopped = is_pressed();
    look_for_faults(loop);
    if (read_all(measured))
        return BL_LINK_LOST;
    counts->received += 1;
    return BL_LINK_FRESH;
}

static void link_close(void)
{
    if (board == NULL)
        return; /* also called after an `open` that failed */
    if (loop != NULL)
        (void)write_enable(0);
    if (commanded && !loop->halted) /* else they are left alone, or where the rig stood at its emergency stop */
        (void)write_all(loop->safe);
    comedi_close(board); /* gives up the locks, too */
    board = NULL;
    loop = NULL;
    commanded = 0;
}

const bl_link bl_link_comedi = {"comedi", BL_LINK_REAL_TIME | BL_LINK_EXCLUSIVE, link_open, link_exchange, link_close};
