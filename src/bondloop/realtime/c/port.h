/* The rig's end of a link: what `rig.c` needs, in a table like that of `link.h`. */
#ifndef BL_PORT_H
#define BL_PORT_H

#include "link.h"

typedef struct {
    const char *address;
    long commands, measured;
    uint32_t signature;
    int64_t timeout_ns; /* a session without a sign of life for so long is over */
    double *safe;       /* [commands] where the rig goes by itself; filled when a loop has come */
    int (*accepts)(double period); /* whether a loop of this period, in s, suits the rig */
    char message[256];             /* from `open`: the URL for loops, or what went wrong */
    int pressed;   /* set by the rig before each answer: its emergency stop is pressed */
    int withdrawn; /* set by `receive`: the loop does not enable the rig, and what it commands is not obeyed */
} bl_port_config;

/* What `wait` and `receive` return. */
enum {
    BL_PORT_NOTHING = 0,
    BL_PORT_OPENED = 1,  /* a loop has come; `accept` must follow */
    BL_PORT_COMMAND = 2, /* a newer command */
    BL_PORT_AGAIN = 3,   /* lock-step: the last command once more, its answer was lost; `publish` again */
    BL_PORT_CLOSED = 4,  /* the loop has gone */
    BL_PORT_ALIVE = 5    /* the loop is there, and commands nothing new */
};

typedef struct {
    const char *scheme;
    int (*open)(bl_port_config *config); /* 0, or -1 with a message */
    /* One look for something new, without waiting; `wait_ns` > 0: may sleep so long. With `commands` NULL a command
       is heard but not obeyed: no measurement answers it. */
    int (*receive)(double *commands, int64_t wait_ns);
    void (*accept)(const double *measured); /* answers a loop that has come, with the first measured values */
    void (*publish)(const double *measured);
    int (*lock_step)(void); /* whether the loop that has come wants lock-step */
    void (*release)(void);  /* ends the session from this side */
    void (*close)(void);
    bl_link_counts *counts; /* of the session; `rig.c` sets them to 0 when one begins */
} bl_port;

extern const bl_port bl_port_udp, bl_port_shm;

const bl_port *bl_port_find(const char *url, const char **address);

#endif
