/* A link to boards of National Instruments through NI-DAQmx, one sample at a time:
 *
 *   nidaqmx://NAME            NAME is for people; channels are named in full, Dev1/ai0, in the channels file
 *
 * What is at which channel, calibrations, ranges, the lines of emergency stop and enable and of the controller's faults
 * (Dev1/port0/line3) are said by the channels file. A task each for inputs, outputs and digital lines. All tasks are
 * started in `open`, so that a cycle only converts; outputs stay as they are until the first command.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "NIDAQmx.h"
#include "channels.h"

#define MOST_LINES 64
#define WAIT_S 0.0 /* what has not been converted by then is a fault */

static TaskHandle reads, writes, listens, tells;
static bl_link_config *loop;
static int commanded;
static double raw[BL_MOST_CHANNELS], out[BL_MOST_CHANNELS];

static int refuse(bl_link_config *config, const char *what)
{
    char words[160] = "";
    DAQmxGetExtendedErrorInfo(words, sizeof words);
    for (char *c = words; *c != '\0'; ++c)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    snprintf(config->message, sizeof config->message, "nidaqmx://%.60s: %.80s: %.100s", config->address, what, words);
    return BL_LINK_FAILED;
}

/* A conversion that failed, in the driver's words. */
static int fail(int32 code, const char *what)
{
    char words[96] = "";
    DAQmxGetErrorString(code, words, sizeof words);
    for (char *c = words; *c != '\0'; ++c)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    bl_link_fault(loop, code < 0 ? -(long)code : (long)code, "%s: %.90s", what, words);
    return BL_LINK_LOST;
}

/* Whether an entry of the channels file has become one channel of the task, so that `count` are there now; 0 or an error.
 * DAQmx makes a channel of each element of a range (ai0:1, port0/line0:3, port0): all behind it would be read as another.
 */
static int count_one(bl_link_config *config, TaskHandle task, long count, const char *at)
{
    uInt32 found = 0;
    if (DAQmxGetTaskNumChans(task, &found) < 0)
        return refuse(config, at);
    if ((long)found == count)
        return 0;
    snprintf(config->message, sizeof config->message,
        "nidaqmx://%.60s: %.80s makes %ld channels; expected one: name each channel, and each line, by itself",
        config->address, at, (long)found - count + 1);
    return BL_LINK_FAILED;
}

static double bounded(double end, double otherwise)
{
    return bl_is_finite(end) ? end : otherwise;
}

/* One task of all channels of a kind, in their order; 0 or an error. */
static int make_analogue(bl_link_config *config, TaskHandle *task, const bl_channel *channels, long count, int is_output)
{
    if (count == 0)
        return 0;
    if (DAQmxCreateTask("", task) < 0)
        return refuse(config, "no task");
    for (long i = 0; i < count; ++i) {
        const bl_channel *c = &channels[i];
        const double low = bounded(c->low, -10.0), high = bounded(c->high, 10.0);
        const int32 code = is_output
            ? DAQmxCreateAOVoltageChan(*task, c->at, "", low, high, DAQmx_Val_Volts, NULL)
            : DAQmxCreateAIVoltageChan(*task, c->at, "", DAQmx_Val_Cfg_Default, low, high, DAQmx_Val_Volts, NULL);
        if (code < 0)
            return refuse(config, c->at);
        if (count_one(config, *task, i + 1, c->at))
            return BL_LINK_FAILED;
    }
    /* An output task that is started has written nothing yet. */
    return DAQmxStartTask(*task) < 0 ? refuse(config, "cannot be started") : 0;
}

static int listen_to(bl_link_config *config, const char *line, long count)
{
    if (DAQmxCreateDIChan(listens, line, "", DAQmx_Val_ChanPerLine) < 0)
        return refuse(config, line);
    return count_one(config, listens, count, line);
}

static int tell_by(bl_link_config *config, const char *line, long count)
{
    if (DAQmxCreateDOChan(tells, line, "", DAQmx_Val_ChanPerLine) < 0)
        return refuse(config, line);
    return count_one(config, tells, count, line);
}

static int make_lines(bl_link_config *config)
{
    const long heard = (bl_lab.stop != NULL) + bl_lab.faults, told = (bl_lab.beat != NULL) + (bl_lab.enable != NULL);
    if (heard > MOST_LINES)
        return refuse(config, "too many digital lines");
    if (heard > 0) {
        if (DAQmxCreateTask("", &listens) < 0)
            return refuse(config, "no task");
        for (long i = 0; i < bl_lab.faults; ++i)
            if (listen_to(config, bl_lab.fault[i].at, i + 1))
                return BL_LINK_FAILED;
        if (bl_lab.stop != NULL && listen_to(config, bl_lab.stop, heard))
            return BL_LINK_FAILED;
        if (DAQmxStartTask(listens) < 0)
            return refuse(config, "digital inputs cannot be started");
    }
    if (told > 0) {
        if (DAQmxCreateTask("", &tells) < 0)
            return refuse(config, "no task");
        if (bl_lab.beat != NULL && tell_by(config, bl_lab.beat, 1))
            return BL_LINK_FAILED;
        if (bl_lab.enable != NULL && tell_by(config, bl_lab.enable, told))
            return BL_LINK_FAILED;
        if (DAQmxStartTask(tells) < 0)
            return refuse(config, "digital outputs cannot be started");
    }
    config->tells_stop = bl_lab.stop != NULL;
    return 0;
}

static int write_enable(unsigned word)
{
    uInt8 lines[2];
    int32 count = 0, written = 0;
    if (bl_lab.beat != NULL)
        lines[count++] = (word & BL_BEAT) != 0;
    if (bl_lab.enable != NULL)
        lines[count++] = (word & BL_ENABLE) != 0;
    const int32 code = count == 0 ? 0 : DAQmxWriteDigitalLines(tells, 1, 0, WAIT_S, DAQmx_Val_GroupByChannel, lines,
        &written, NULL);
    return code < 0 ? fail(code, "the enable") : 0;
}

/* The lines, then the sensors; FRESH or LOST. A stop that cannot be read is pressed. */
static int read_all(double *measured)
{
    int32 count = 0, bytes = 0;
    loop->fault = 0;
    loop->stopped = 0;
    if (listens != NULL) {
        uInt8 lines[MOST_LINES] = {0};
        const int32 code = DAQmxReadDigitalLines(listens, 1, WAIT_S, DAQmx_Val_GroupByChannel, lines, sizeof lines,
            &count, &bytes, NULL);
        if (code < 0) {
            loop->stopped = bl_lab.stop != NULL;
            return fail(code, "the digital lines");
        }
        loop->stopped = bl_lab.stop != NULL && lines[bl_lab.faults] == 0;
        for (long i = 0; i < bl_lab.faults; ++i)
            bl_channels_fault(loop, &bl_lab.fault[i], lines[i]);
    }
    if (bl_lab.inputs == 0)
        return BL_LINK_FRESH;
    const int32 code = DAQmxReadAnalogF64(reads, 1, WAIT_S, DAQmx_Val_GroupByScanNumber, raw, BL_MOST_CHANNELS, &count,
        NULL);
    if (code < 0)
        return fail(code, "the analogue inputs");
    if (count != 1)
        return BL_LINK_OLD;
    bl_channels_measured(raw, measured);
    return BL_LINK_FRESH;
}

static int write_all(const double *commands)
{
    double wanted[BL_MOST_CHANNELS];
    int wrong = bl_channels_commands(loop, commands, wanted);
    for (long i = 0; i < bl_lab.outputs; ++i) {
        if (!bl_is_nan(wanted[i]))
            out[i] = wanted[i]; /* else it is held */
        else if (!commanded)
            return BL_LINK_LOST; /* what it is at is not known */
    }
    int32 written = 0;
    const int32 code = DAQmxWriteAnalogF64(writes, 1, 0, WAIT_S, DAQmx_Val_GroupByScanNumber, out, &written, NULL);
    commanded = 1;
    if (code < 0)
        wrong = fail(code, "the analogue outputs");
    return wrong ? BL_LINK_LOST : 0;
}

static int link_open(bl_link_config *config, double *measured)
{
    loop = config;
    commanded = 0;
    if (bl_channels_open(config) || bl_channels_volts(config)
        || make_analogue(config, &reads, bl_lab.input, bl_lab.inputs, 0)
        || make_analogue(config, &writes, bl_lab.output, bl_lab.outputs, 1) || make_lines(config))
        return BL_LINK_FAILED;
    if (write_enable(0) || read_all(measured) != BL_LINK_FRESH) {
        snprintf(config->message, sizeof config->message, "nidaqmx://%.60s: does not convert: %s", config->address,
            config->fault_words);
        return BL_LINK_FAILED;
    }
    return BL_LINK_FRESH;
}

static int link_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    const int sends = commands != NULL || measured == NULL;
    int wrong = sends && !loop->enable && write_enable(0); /* withdrawn before anything else is written */
    if (commands != NULL) {
        counts->sent += 1;
        wrong |= write_all(commands);
    }
    wrong |= sends && loop->enable && write_enable(loop->enable);
    if (wrong)
        return BL_LINK_LOST;
    if (measured == NULL)
        return BL_LINK_OLD;
    const int came = read_all(measured);
    counts->received += came == BL_LINK_FRESH;
    return came;
}

static void end(TaskHandle *task)
{
    if (*task != NULL)
        DAQmxClearTask(*task);
    *task = NULL;
}

static void link_close(void)
{
    if (loop != NULL && tells != NULL)
        (void)write_enable(0);
    if (commanded && !loop->halted)
        (void)write_all(loop->safe);
    end(&reads), end(&writes), end(&listens), end(&tells);
    commanded = 0;
}

const bl_link bl_link_nidaqmx = {"nidaqmx", BL_LINK_REAL_TIME | BL_LINK_EXCLUSIVE, link_open, link_exchange, link_close};
