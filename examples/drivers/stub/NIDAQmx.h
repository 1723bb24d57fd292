/* Stands in for the header of NI-DAQmx where it is not installed: the few names that link_nidaqmx.c needs, with the types
 * of NI's own reference. nidaqmx_stub.c is a board behind it that does not exist.
 */
#ifndef NIDAQMX_STUB_H
#define NIDAQMX_STUB_H

#include <stdint.h>

typedef int32_t int32;
typedef uint32_t uInt32;
typedef uint8_t uInt8;
typedef double float64;
typedef uInt32 bool32;
typedef void *TaskHandle;

#define DAQmx_Val_Cfg_Default -1
#define DAQmx_Val_Volts 10348
#define DAQmx_Val_GroupByChannel 0
#define DAQmx_Val_GroupByScanNumber 1
#define DAQmx_Val_ChanPerLine 0

int32 DAQmxCreateTask(const char name[], TaskHandle *task);
int32 DAQmxStartTask(TaskHandle task);
int32 DAQmxClearTask(TaskHandle task);
int32 DAQmxCreateAIVoltageChan(TaskHandle task, const char channel[], const char name[], int32 terminals, float64 low,
    float64 high, int32 units, const char scale[]);
int32 DAQmxCreateAOVoltageChan(TaskHandle task, const char channel[], const char name[], float64 low, float64 high,
    int32 units, const char scale[]);
int32 DAQmxCreateDIChan(TaskHandle task, const char lines[], const char name[], int32 grouping);
int32 DAQmxCreateDOChan(TaskHandle task, const char lines[], const char name[], int32 grouping);
int32 DAQmxGetTaskNumChans(TaskHandle task, uInt32 *count);
int32 DAQmxReadAnalogF64(TaskHandle task, int32 samples, float64 timeout, bool32 fill, float64 values[], uInt32 size,
    int32 *read, bool32 *reserved);
int32 DAQmxWriteAnalogF64(TaskHandle task, int32 samples, bool32 start, float64 timeout, bool32 layout,
    const float64 values[], int32 *written, bool32 *reserved);
int32 DAQmxReadDigitalLines(TaskHandle task, int32 samples, float64 timeout, bool32 fill, uInt8 values[], uInt32 size,
    int32 *read, int32 *bytes, bool32 *reserved);
int32 DAQmxWriteDigitalLines(TaskHandle task, int32 samples, bool32 start, float64 timeout, bool32 layout,
    const uInt8 values[], int32 *written, bool32 *reserved);
int32 DAQmxGetExtendedErrorInfo(char words[], uInt32 size);
int32 DAQmxGetErrorString(int32 code, char words[], uInt32 size);

#endif
