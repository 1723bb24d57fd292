/* A board that does not exist, for trying link_nidaqmx.c: Dev1 with ao0 and ao1, ai0 and ai1 cabled to them, ai2 and ai3
 * loose at 1 V, and port0/line0 to line7, of which all inputs are high.
 * A range (ai0:1) is a channel each, and port0 all of its lines, as with NI-DAQmx itself.
 *
 * Every conversion of an output adds a line, "ao VOLTS VOLTS", or "do BITS", to the file that NIDAQMX_STUB names.
 * NIDAQMX_STUB_OVERRUN=N makes all analogue readings fail after the first N, NIDAQMX_STUB_LOW=N all lines low after N.
 */
#include "NIDAQmx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16

typedef struct {
    int count, channel[MOST];
    double low[MOST], high[MOST];
} task_of;

static double volts[2];
static const char *trouble = "";
static long analogue_reads, digital_reads;

static long after(const char *word)
{
    const char *text = getenv(word);
    return text == NULL ? -1 : atol(text);
}

static void note(const char *kind, const double *values, int count)
{
    const char *path = getenv("NIDAQMX_STUB");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file == NULL)
        return;
    fputs(kind, file);
    for (int i = 0; i < count; ++i)
        fprintf(file, " %.17g", values[i]);
    fputc('\n', file);
    fclose(file);
}

int32 DAQmxCreateTask(const char name[], TaskHandle *task)
{
    (void)name;
    *task = calloc(1, sizeof(task_of));
    return *task == NULL ? -1 : 0;
}

int32 DAQmxStartTask(TaskHandle task) { return task == NULL ? -1 : 0; }

int32 DAQmxClearTask(TaskHandle task)
{
    free(task);
    return 0;
}

static int32 add(TaskHandle handle, const char *text, const char *kind, int most, double low, double high)
{
    task_of *task = handle;
    const size_t length = strlen(kind);
    char *end = NULL;
    const long number = strncmp(text, kind, length) == 0 ? strtol(text + length, &end, 10) : -1;
    long last = number;
    if (number >= 0 && end != text + length && *end == ':')
        last = strtol(end + 1, &end, 10);
    if (number < 0 || last < number || last >= most || end == text + length || *end != '\0'
        || task->count + last - number + 1 > MOST) {
        trouble = strncmp(text, "Dev1/", 5) == 0 ? "Physical channel specified does not exist on this device."
                                                 : "Device identifier is invalid.";
        return -200220;
    }
    for (long i = number; i <= last; ++i) {
        task->low[task->count] = low;
        task->high[task->count] = high;
        task->channel[task->count++] = (int)i;
    }
    return 0;
}

int32 DAQmxGetTaskNumChans(TaskHandle handle, uInt32 *count)
{
    const task_of *task = handle;
    *count = (uInt32)task->count;
    return 0;
}

int32 DAQmxCreateAIVoltageChan(TaskHandle task, const char channel[], const char name[], int32 terminals, float64 low,
    float64 high, int32 units, const char scale[])
{
    (void)name, (void)terminals, (void)units, (void)scale;
    return add(task, channel, "Dev1/ai", 4, low, high);
}

int32 DAQmxCreateAOVoltageChan(TaskHandle task, const char channel[], const char name[], float64 low, float64 high,
    int32 units, const char scale[])
{
    (void)name, (void)units, (void)scale;
    return add(task, channel, "Dev1/ao", 2, low, high);
}

int32 DAQmxCreateDIChan(TaskHandle task, const char lines[], const char name[], int32 grouping)
{
    (void)name, (void)grouping;
    return add(task, strcmp(lines, "Dev1/port0") == 0 ? "Dev1/port0/line0:7" : lines, "Dev1/port0/line", 8, 0, 1);
}

int32 DAQmxCreateDOChan(TaskHandle task, const char lines[], const char name[], int32 grouping)
{
    return DAQmxCreateDIChan(task, lines, name, grouping);
}

int32 DAQmxReadAnalogF64(TaskHandle handle, int32 samples, float64 timeout, bool32 fill, float64 values[], uInt32 size,
    int32 *read, bool32 *reserved)
{
    const task_of *task = handle;
    (void)samples, (void)timeout, (void)fill, (void)size, (void)reserved;
    const long most = after("NIDAQMX_STUB_OVERRUN");
    *read = 0;
    if (most >= 0 && analogue_reads++ >= most)
        return -200279;
    for (int i = 0; i < task->count; ++i)
        values[i] = task->channel[i] < 2 ? volts[task->channel[i]] : 1.0;
    *read = 1;
    return 0;
}

int32 DAQmxWriteAnalogF64(TaskHandle handle, int32 samples, bool32 start, float64 timeout, bool32 layout,
    const float64 values[], int32 *written, bool32 *reserved)
{
    const task_of *task = handle;
    (void)samples, (void)start, (void)timeout, (void)layout, (void)reserved;
    for (int i = 0; i < task->count; ++i) {
        if (!(values[i] >= task->low[i] && values[i] <= task->high[i]))
            return -200561;
        volts[task->channel[i]] = values[i];
    }
    note("ao", volts, 2);
    *written = 1;
    return 0;
}

int32 DAQmxReadDigitalLines(TaskHandle handle, int32 samples, float64 timeout, bool32 fill, uInt8 values[], uInt32 size,
    int32 *read, int32 *bytes, bool32 *reserved)
{
    const task_of *task = handle;
    (void)samples, (void)timeout, (void)fill, (void)size, (void)reserved;
    const long most = after("NIDAQMX_STUB_LOW");
    const int is_low = most >= 0 && digital_reads++ >= most;
    for (int i = 0; i < task->count; ++i)
        values[i] = is_low ? 0 : 1;
    *read = *bytes = 1;
    return 0;
}

int32 DAQmxWriteDigitalLines(TaskHandle handle, int32 samples, bool32 start, float64 timeout, bool32 layout,
    const uInt8 values[], int32 *written, bool32 *reserved)
{
    const task_of *task = handle;
    double bits[MOST];
    (void)samples, (void)start, (void)timeout, (void)layout, (void)reserved;
    for (int i = 0; i < task->count; ++i)
        bits[i] = values[i];
    note("do", bits, task->count);
    *written = 1;
    return 0;
}

int32 DAQmxGetExtendedErrorInfo(char words[], uInt32 size)
{
    snprintf(words, size, "%s", trouble);
    return 0;
}

int32 DAQmxGetErrorString(int32 code, char words[], uInt32 size)
{
    snprintf(words, size, "%s", code == -200279 ? "The application is not able to keep up with the hardware acquisition."
            : code == -200561                   ? "Attempted writing analog data that is too large or too small."
                                                : "unknown");
    return 0;
}
