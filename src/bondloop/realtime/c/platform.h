/* Clock, scheduling, memory: what Linux is asked for. */
#ifndef BL_PLATFORM_H
#define BL_PLATFORM_H

#include <stdint.h>
#include <time.h>

static inline int64_t bl_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec*1000000000 + t.tv_nsec;
}

static inline void bl_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Sleeps until an instant of CLOCK_MONOTONIC, the last `spin_ns` of it awake. */
void bl_sleep_until(int64_t instant_ns, int64_t spin_ns);

typedef struct {
    int priority; /* of SCHED_FIFO; 0: leave the scheduler alone */
    int cpu;      /* -1: any */
    int lock;     /* lock all memory, touch the stack */
} bl_demands;

/* Starts a process of the idle class on each processor that does nothing, so that none of them goes to sleep:
   waking up a processor can take longer than a tick, above all a virtual one. They end with this process. */
void bl_stay_awake(const char *who);

typedef struct {
    int fifo, pinned, locked;
} bl_granted;

/* Asks for all of it; says on stderr what was not granted, and why. */
bl_granted bl_platform(const bl_demands *demands, const char *who);

/* SCHED_FIFO at a priority, or the ordinary scheduler at 0; whether it was granted. */
int bl_priority(int priority);

/* SIGTERM, SIGINT and SIGHUP set the flag; SIGUSR1, the operator's stop, counts; SIGPIPE is ignored, and Ctrl-Z:
   a loop must not stand still. */
extern volatile int bl_asked_to_end, bl_asked_to_stop;
void bl_listen_to_signals(void);

#endif
