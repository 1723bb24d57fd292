/* The telemetry segment: POSIX shared memory with a header, the mailbox, metadata (JSON) and a ring of slots.
 *
 * One producer (the loop) writes; any number of readers, each with a cursor of its own, only read. A slot is
 * complete when its `sequence` is its index + 1; `written` counts complete slots and is stored last, with
 * release ordering. Slot i lies at slots_at + (i % slots)*slot_bytes. A reader copies and then looks at
 * `written` again: what is older than written - slots + 1 may have been overwritten meanwhile, and is lost
 * to this reader alone.
 *
 * The loop and its supervisor hold a shared flock on the segment. A segment that nobody holds belongs to dead
 * processes and may be removed by anybody.
 *
 * bondloop/realtime/protocol.py mirrors this layout; `loop --layout` prints it for the test that compares them.
 */
#ifndef BL_SEGMENT_H
#define BL_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "link.h"

#define BL_MAGIC "BLRING02"
#define BL_LAYOUT 6
#define BL_BINS 640
#define BL_MAILS 64
#define BL_EVENTS 1024
#define BL_WHO 32 /* bytes of a name */
#define BL_WORDS 32768 /* bytes of what processes tell each other */

/* Lifecycle. */
enum { BL_UNCONFIGURED, BL_INACTIVE, BL_ACTIVE, BL_RETREAT, BL_SAFE, BL_FINALIZED };

/* Causes of a trip that the executive itself finds; the numbers are those of bondloop/safety/causes.py. */
enum {
    BL_CAUSE_NONE = 0,
    BL_CAUSE_NOT_A_NUMBER = 7,
    BL_CAUSE_STALE = 8,
    BL_CAUSE_OPERATOR = 9,
    BL_CAUSE_LINK_LOST = 10,
    BL_CAUSE_OVERRUN = 11,
    BL_CAUSE_SUPERVISOR_LOST = 12,
    BL_CAUSE_EMERGENCY_STOP = 14,
    BL_CAUSE_STOOD_STILL = 15,
    BL_CAUSE_RECORD_LOST = 16, /* given by the supervisor */
    BL_CAUSE_COMMAND_RATE = 17,
    BL_CAUSE_START_POSITION = 18,
    BL_CAUSE_OPERATOR_LOST = 19,
    BL_CAUSE_CONTROLLER_FAULT = 20
};

/* Flags of a slot. */
enum {
    BL_FLAG_FRESH = 1,     /* a new measurement came in this cycle */
    BL_FLAG_OVERRUN = 2,   /* the cycle ended after its deadline */
    BL_FLAG_HELD = 4,      /* the command was computed too late and the last one held */
    BL_FLAG_EXECUTIVE = 8, /* the command is the executive's ramp, not the tick's */
    BL_FLAG_REFUSED = 16,  /* measured values were not believed; the last good ones are used */
    BL_FLAG_MAIL = 32,     /* a command from the mailbox was handled */
    BL_FLAG_SILENT = 64,   /* the rig was commanded nothing; the command shown is the last one, or the safe one */
    BL_FLAG_STOPPED = 128, /* the emergency stop at the rig is pressed */
    BL_FLAG_ENABLED = 256, /* the rig was enabled with what was sent */
    BL_FLAG_FAULT = 512    /* the rig's controller reports a fault */
};

typedef struct {
    uint64_t sequence; /* index + 1 when complete, 0 while being written */
    int64_t cycle;     /* cycles of the executive since it began */
    int64_t step;      /* number of the tick that was executed, -1 if none was */
    int64_t time_ns;   /* CLOCK_MONOTONIC when the cycle began */
    int32_t wake_ns;   /* how much later than planned it began */
    int32_t busy_ns;   /* from its beginning until the command was sent */
    int32_t exchange_ns; /* of which in the link */
    int32_t age;         /* of the measurement, in commands */
    int32_t state, cause;
    uint32_t flags, status;
} bl_slot; /* 64 bytes; the channels follow as doubles */

typedef struct {
    uint64_t count;
    int64_t sum, least, most; /* ns */
    uint64_t bins[BL_BINS];   /* below 16 ns one each, then 16 to an octave */
} bl_histogram;

/* What brings the rig to rest: trip, retreat, stop. Anybody writes it, without a lock and without a place in the mailbox,
   so that nothing can stand before it: when a count changes, the loop obeys. These and the words before them have a fixed
   place, for programs that know nothing else of a segment (stop_requests.py); BL_MAGIC changes with it. */
enum { BL_REQUEST_TRIP, BL_REQUEST_RETREAT, BL_REQUEST_STOP, BL_REQUESTS };
typedef struct {
    uint64_t count;   /* one more with each; two at once may count as one: either is obeyed */
    uint64_t cause;   /* of a trip */
    char who[BL_WHO]; /* who was the last, for the log; zeros behind the name */
    uint64_t heard;   /* written by the loop: the count that it has heard */
    uint64_t refused; /* and why it did not obey that one; BL_OBEYED if it did */
} bl_request;

/* A command to the loop. `check` is the exclusive or of the other words and of BL_MAIL_KEY: a command that is
   only partly visible is looked at again; one that makes no sense at BL_MAIL_LOOKS looks is left out. */
#define BL_MAIL_KEY 0x626f6e646c6f6f70ULL
#define BL_MAIL_LOOKS 16
#define BL_BATCH 16 /* parameters that are set in one tick, all or none */
enum { BL_MAIL_START = 1, BL_MAIL_SET = 3, BL_MAIL_RESET = 5, BL_MAIL_ARM = 7 };
#ifdef BL_TEST_HOOKS /* only in programs that tests build */
enum { BL_MAIL_STALL = 6 };
#endif
typedef struct {
    uint64_t number;       /* of the command, from 1 */
    uint32_t kind, index;  /* BL_MAIL_SET: index of the parameter */
    double value;          /* BL_MAIL_SET: its value */
    uint64_t more;         /* BL_MAIL_SET: how many follow that are set in the same tick */
    char who[BL_WHO];      /* who gave it, for the log; zeros behind the name */
    uint64_t check;
} bl_mail;

/* What is logged: every command and request with what became of it, every change of the state, every cause of a trip.
   Kinds are those of the mailbox, and these. An event is complete when its `sequence` is its index + 1, as a slot. */
enum { BL_EVENT_STOP = 2, BL_EVENT_TRIP = 4, BL_EVENT_RETREAT = 8, BL_EVENT_STATE = 100, BL_EVENT_CAUSE = 101 };
enum { /* why a command was not obeyed */
    BL_OBEYED,
    BL_NO_SENSE,       /* what lay in the mailbox was no command */
    BL_NO_COMMAND,     /* of this kind */
    BL_NOT_NOW,        /* it makes no sense in this state */
    BL_NO_PARAMETER,   /* of this index */
    BL_NOT_FINITE,
    BL_OUT_OF_BOUNDS,
    BL_NOT_TUNABLE,    /* the test fixes this parameter */
    BL_ANOTHER,        /* another value of the same command was refused */
    BL_NOT_ARMED
};
typedef struct {
    uint64_t sequence;
    uint64_t mail;   /* number of the command; 0: not from the mailbox */
    int64_t time_ns; /* CLOCK_MONOTONIC when the cycle began */
    int64_t cycle;
    int64_t step;        /* the next tick: the first for which it holds */
    uint32_t kind, index; /* SET: index of the parameter; CAUSE: its number; STATE: the cause so far */
    double before, value; /* SET: of the parameter; STATE: both states; CAUSE: detail and value; TRIP: 0 and the cause */
    uint32_t refused, run;
    char who[BL_WHO];
} bl_event;

typedef struct {
    uint64_t cycles, steps;
    uint64_t overruns;      /* cycles that ended after their deadline, while the rig was moved: active, retreat */
    uint64_t missed;        /* deadlines that passed without a cycle of their own, while the rig was moved */
    uint64_t held;          /* commands held because they came too late */
    uint64_t refused;       /* measurements that were not believed */
    uint64_t stale;         /* cycles without a new measurement */
    uint64_t mails, mails_refused;
    uint64_t fifo, locked, pinned; /* 1 where SCHED_FIFO, locked memory, the processor were granted */
    uint64_t stops;         /* stops of the operator's that were heard: no trip, so no cause tells of them */
    uint64_t spare[3];
} bl_counts;

typedef struct {
    char magic[8];
    uint64_t version;
    int64_t loop_pid;
    bl_request requests[BL_REQUESTS];
    uint64_t state;
    /* Written once. */
    uint64_t header_bytes, metadata_at, metadata_bytes, slots_at, slot_bytes, slots, channels;
    int64_t period_ns;
    int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC at the start */
    uint64_t lock_step;
    uint64_t mails; /* size of the mailbox */
    uint64_t parameters_at, parameters; /* doubles, as they are now, and how many */
    /* Written by the loop. */
    uint64_t written;
    int64_t heartbeat_ns;
    uint64_t cause;
    int64_t cause_cycle, cause_step;
    uint64_t cause_detail; /* index of the channel, and of a measured value that is no number, behind those; of the
                              command (command rate, elsewhere); of others, a count */
    double cause_value;
    bl_counts counts;
    bl_link_counts link;
    uint64_t mail_taken; /* number of the last command taken out of the mailbox */
    uint64_t events_written;
    uint64_t run;   /* 1, and one more with every reset */
    uint64_t armed; /* whether a START would be obeyed */
    int64_t step;   /* number of the next tick of this run */
    uint64_t emulated; /* whether the rig is a model, by its own word */
    uint64_t tells_stop; /* whether the link tells of the emergency stop at the rig */
    bl_histogram wake, busy, exchange;
    /* Written by the supervisor. */
    uint64_t spare2[4];
    int64_t supervisor_ns; /* its heartbeat, CLOCK_MONOTONIC; 0: there is no supervisor */
    uint64_t mail_given;   /* number of the last command put into the mailbox */
    int64_t operator_ns;   /* heartbeat of the operator's console; 0: there was none */
    int64_t page_ns;       /* heartbeat of the operator's page; 0: none is attached */
    bl_mail mail[BL_MAILS];
    /* Written by the loop. */
    bl_event events[BL_EVENTS]; /* event i lies at i % BL_EVENTS */
    char fault_words[128]; /* written by the loop: what the rig's controller says of the fault that is the cause */
    char recording_words[128]; /* written by the supervisor: what is wrong with the record; empty: all is well */
    char self_test_words[2048]; /* written by the loop before it is ready: JSON, see selftest.h */
    /* JSON behind its checksum (telemetry/segment.py); the loop reads neither. */
    char session_words[BL_WORDS];   /* written by the supervisor: check, record, list of the laboratory */
    char preflight_words[BL_WORDS]; /* written by who arms: what was confirmed, by whom, with what was observed */
} bl_segment;

/* Creates the segment; NULL with a message if that fails. */
bl_segment *bl_segment_create(const char *name, long slots, long channels, long parameters, const char *metadata,
    char *message, size_t size);
void bl_segment_remove(const char *name);

/* The slot that is written next, marked incomplete; its channels begin behind it. */
bl_slot *bl_segment_begin(bl_segment *segment);
void bl_segment_publish(bl_segment *segment, bl_slot *slot);

/* Logs an event; its sequence is given here. */
void bl_segment_log(bl_segment *segment, const bl_event *event);

void bl_histogram_add(bl_histogram *h, int64_t ns);

/* The next command of the mailbox: 1 if there is one, -1 if one was left out; `looks` is the caller's, at first 0. */
int bl_mail_take(bl_segment *segment, bl_mail *mail, int *looks);

#endif
