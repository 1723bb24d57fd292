/* The laboratory's channels, as a channels file states them: which signal is at which physical channel, and what its
 * raw value (volts, counts) means in SI units. Python writes the tables into channels_table.c; drivers read them.
 * Everything here takes bounded time and allocates nothing.
 */
#ifndef BL_CHANNELS_H
#define BL_CHANNELS_H

#include "field.h"
#include "link.h"

#define BL_MOST_CHANNELS 128 /* each way */

typedef struct {
    const char *name;           /* of the signal, as the test has it */
    const char *unit, *raw_unit; /* for messages: its own, and SI */
    double one;                 /* of its own unit in SI units */
    const char *at;             /* physical channel, in the driver's own words */
    int type;                   /* of the field, where there is one */
    long count;                 /* coefficients, or points of the table */
    const double *raw;          /* [count] points, ascending; NULL: a polynomial */
    const double *value;        /* [count] at the points; or coefficients, that of the power 0 first */
    double zero;                /* subtracted from the calibrated value */
    double low, high;           /* of the raw value */
    double least, most;         /* outputs: of the command */
    double keep;                /* inputs: share of the last value that a low-pass filter keeps; 0: no filter */
    double rest;                /* outputs: what a packet holds before anything is commanded, without a feedback */
    long feedback;              /* outputs: the input that shows where it stands; -1: none */
    int recorded;               /* inputs: not in the loop, so nothing it shows is a reason to stop */
} bl_channel;

/* A bit, a line or a word by which the controller says that something is wrong with it. */
typedef struct {
    const char *at;
    int type;
    int bit;            /* -1: the whole word, whose value is the code */
    int active;         /* the level that is the fault */
    long code;
    const char *words;
    int unpowered;      /* the rig goes where it is pushed: as at an emergency stop */
} bl_fault_source;

/* Fields of a packet that are no channels. */
enum { BL_CONSTANT, BL_COUNTER, BL_ECHO, BL_CRC16, BL_CRC32, BL_ENABLE_WORD, BL_STOP_WORD };

typedef struct {
    int role, type;
    long at;
    double value; /* of a constant */
} bl_packet_field;

typedef struct {
    long bytes, count;
    const bl_packet_field *fields;
} bl_packet_side;

typedef struct {
    long outputs, inputs, faults; /* as many outputs as commands, inputs as measured values; all 0: no channels file */
    long idles; /* outputs that this program does not command: they follow the others, and are at rest where a packet or an
                   image holds all of them; elsewhere they are left alone */
    const bl_channel *output, *input;
    const bl_fault_source *fault;
    const char *stop, *beat, *enable; /* digital lines; NULL: none */
    int is_big;                       /* byte order of packets and process images */
    bl_packet_side send, receive;
} bl_channels;

/* Those of this program. */
extern const bl_channels bl_lab;

/* The value of a raw one in SI units, its zero taken off; NaN where the raw one is beyond its range. */
double bl_channel_value(const bl_channel *channel, double raw);
/* The raw value of a command; NaN where that is beyond its range, or the command beyond its limits. */
double bl_channel_raw(const bl_channel *channel, double value);

/* In `open`: whether there is a channels file for the test's signals, and the safe commands are within their limits;
   forgets what filters hold. 0, or BL_LINK_FAILED with a message. */
int bl_channels_open(bl_link_config *config);
/* In `open` of a board that knows volts and lines alone: whether the file says nothing else of its channels and faults.
   0, or BL_LINK_FAILED with a message. */
int bl_channels_volts(bl_link_config *config);
/* From raw values to measured ones, filtered. What is only recorded stops nothing: at the end of its range it shows that
   end, and what is no number the last value. */
void bl_channels_measured(const double *raw, double *measured);
/* From commands to raw values, NaN for what must not be written; 0, or -1 with a fault that says why. */
int bl_channels_commands(bl_link_config *config, const double *commands, double *raw);

/* For the self-test, whose first numbers are none of these channels': whether they are heeded; returns whether they were. */
int bl_channels_heed(int heed);

/* Whether outputs can give these commands: 0, or -1 with a fault that says why. 0 where the link has no channels. */
int bl_channels_refuse(bl_link_config *config, const double *commands);
/* Whether every output with a feedback stands where it may be commanded to: 0, or -1 with a fault. One that stands
   elsewhere would jump as soon as it is enabled. 0 where the link has no channels. */
int bl_channels_stand(bl_link_config *config, const double *measured);
/* Before the first command: raw values that hold each output where its feedback shows it; the rest is left. */
void bl_channels_hold(const double *measured, double *raw);

/* Notes a fault of the controller, unless there is one already. */
void bl_link_fault(bl_link_config *config, long code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Judges the value of a source of faults, as read just now. */
void bl_channels_fault(bl_link_config *config, const bl_fault_source *source, uint32_t word);

#endif
