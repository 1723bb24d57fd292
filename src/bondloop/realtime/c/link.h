/* Links to hardware. A driver is one C file that defines one constant `bl_link`; a laboratory adds its own
 * board by writing such a file and naming it when the loop is built. Drivers keep their state in static
 * variables: there is one link per process. None of the functions may allocate memory or block, except `open`
 * and, in lock-step, `exchange`.
 */
#ifndef BL_LINK_H
#define BL_LINK_H

#include <stdint.h>

#include "finite.h"

/* Capabilities. */
enum {
    BL_LINK_REAL_TIME = 1, /* can keep up with a clock */
    BL_LINK_LOCK_STEP = 2, /* can wait for the measurement that follows a command */
    BL_LINK_EMULATED = 4,  /* nothing moves: the rig is a model */
    BL_LINK_EXCLUSIVE = 8  /* refuses a second loop */
};

/* What `exchange` and `open` return. */
enum {
    BL_LINK_OLD = 0,    /* nothing new was received: `measured` is untouched */
    BL_LINK_FRESH = 1,  /* `measured` holds values newer than before, that have not lain in a queue */
    BL_LINK_LOST = -1,  /* lock-step: no answer within the timeout; or the device reports an error */
    BL_LINK_BUSY = -2,  /* open: another loop has the rig */
    BL_LINK_FAILED = -3 /* open: see `message` */
};

typedef struct {
    const char *address; /* what follows scheme:// */
    long commands, measured;
    const char *const *command_names, *const *measured_names; /* of the signals, in their order */
    double period;         /* s */
    uint32_t signature;    /* of the names of the signals; both ends must agree */
    int lock_step;         /* wait for each other instead of following the clock */
    int64_t timeout_ns;    /* without a sign of life for so long, the peer is gone */
    int64_t poll_ns;       /* real time: how long `exchange` may busy-poll for a measurement in a tick */
    const double *safe;    /* [commands]: also where the rig's own watchdog is to go */
    int emulated;          /* set by `open`: the rig says that it is a model, and nothing moves */
    char message[256];     /* filled by `open` when it fails: what was found, what to do */
    /* The emergency stop and the enable, which change while the link is open. A driver that has neither leaves them
       alone. */
    int tells_stop;  /* set by `open`: `stopped` is wired */
    int stopped;     /* set by `open`, and by each `exchange` that fills `measured`: the emergency stop at the rig is
                        pressed, or the rig is not ready to be enabled. It need not be latched: the executive does that */
    unsigned enable; /* set by the executive before each `exchange` that sends: 0, or BL_ENABLE with or without BL_BEAT */
    int halted;      /* set by the executive before `close`: the test ended by the emergency stop, and the last commands
                        are where the rig stood; or nothing was commanded since the start or the last reset. Leave them
                        as they are instead of giving the safe ones */
    /* A fault that the rig's controller reports of itself, set by `open` and by any `exchange`: 0, or its code; what it is
       in words. One reading is enough: the executive trips with it. Where the rig has lost its power by it, `stopped`
       is set, too. */
    long fault;
    char fault_words[128];
} bl_link_config;

#define BL_FAULT_OUTPUT 10001 /* a command that the output cannot give; the controller's own codes are below */

/* What goes out with each command. Withdrawn (0) where nothing is commanded, in the safe state and from the tick in
   which the emergency stop is read; by silence where there is no loop any more. */
enum {
    BL_ENABLE = 1, /* the rig may be powered: it is being commanded */
    BL_BEAT = 2    /* set in every second cycle while enabled: for a charge pump or a relay with a watchdog */
};

typedef struct {
    uint64_t sent, received;
    uint64_t lost;       /* gaps in the sequence numbers, filled ones deducted */
    uint64_t duplicated; /* received before */
    uint64_t reordered;  /* older than one received before */
    uint64_t corrupted;  /* wrong magic, version, size or checksum */
    uint64_t foreign;    /* of another session */
    uint64_t late;       /* ticks whose newest measurement does not answer the last command */
    int64_t age;         /* by how many commands the newest measurement lags; 0: it answers the last one */
} bl_link_counts;

typedef struct {
    const char *scheme; /* "udp" for udp://... */
    unsigned capabilities;
    /* Claims the rig and reads the first measured values; BL_LINK_FRESH or an error. Commands nothing. */
    int (*open)(bl_link_config *config, double *measured);
    /* Sends `commands` unless NULL; then fills `measured` unless NULL, with the newest values there are: a driver
       with a queue empties it, and where that would take too long, or the last call could not, says OLD. On a
       clock the executive calls exchange(NULL, measured) when it wakes and exchange(commands, NULL) when it
       has computed; in lock-step it calls exchange(commands, measured), which waits for the answer. In cycles
       that command nothing it calls exchange(NULL, NULL) instead: keep the link alive, move nothing. In each
       of them BL_LINK_LOST trips. */
    int (*exchange)(const double *commands, double *measured, bl_link_counts *counts);
    void (*close)(void); /* lets go; outputs that were never commanded are left alone */
} bl_link;

extern const bl_link bl_link_udp, bl_link_shm, bl_link_loopback, bl_link_none;

/* All drivers of this program, ended by NULL; written by Python into drivers.c. */
extern const bl_link *const bl_links[];

/* Finds the driver for a URL and leaves the part behind :// in `address`; NULL if there is none. */
const bl_link *bl_link_find(const char *url, const char **address);

#endif
