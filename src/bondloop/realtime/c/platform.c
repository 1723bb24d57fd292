#define _GNU_SOURCE
#include "platform.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_BYTES (256*1024)

volatile int bl_asked_to_end = 0, bl_asked_to_stop = 0;

void bl_sleep_until(int64_t instant_ns, int64_t spin_ns)
{
    const int64_t until = instant_ns - spin_ns;
    const struct timespec t = {.tv_sec = until/1000000000, .tv_nsec = until%1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ; /* a signal is heard at the next cycle, not before its time */
    if (spin_ns > 0)
        while (bl_now() < instant_ns)
            bl_relax();
}

static void touch_stack(void)
{
    volatile char bytes[STACK_BYTES];
    for (size_t i = 0; i < sizeof bytes; i += 1024)
        bytes[i] = 0;
}

int bl_priority(int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    return sched_setscheduler(0, priority > 0 ? SCHED_FIFO : SCHED_OTHER, &param) == 0;
}

void bl_stay_awake(const char *who)
{
    const pid_t parent = getpid();
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN) && cpu < CPU_SETSIZE; ++cpu) {
        const pid_t child = fork();
        if (child > 0)
            continue;
        if (child < 0) {
            fprintf(stderr, "%s: processor %ld is not kept awake: %s\n", who, cpu, strerror(errno));
            return;
        }
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
        const struct sched_param none = {.sched_priority = 0};
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (sched_setscheduler(0, SCHED_IDLE, &none) != 0 || getppid() != parent)
            _exit(1); /* at any other priority it would be in the way */
        for (;;)
            bl_relax();
    }
}

bl_granted bl_platform(const bl_demands *demands, const char *who)
{
    bl_granted granted = {0, 0, 0};
    /* Without this an ordinary thread is woken up to 50 microseconds late on purpose. */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    if (demands->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        if (demands->cpu < CPU_SETSIZE)
            CPU_SET((size_t)demands->cpu, &set);
        granted.pinned = sched_setaffinity(0, sizeof set, &set) == 0;
        if (!granted.pinned)
            fprintf(stderr, "%s: not pinned to processor %d: %s\n", who, demands->cpu, strerror(errno));
    }
    if (demands->priority > 0) {
        granted.fifo = bl_priority(demands->priority);
        if (!granted.fifo)
            fprintf(stderr,
                "%s: SCHED_FIFO at priority %d not granted: %s; allow it with an rtprio limit or CAP_SYS_NICE\n",
                who, demands->priority, strerror(errno));
    }
    if (demands->lock) {
        granted.locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
        if (!granted.locked)
            fprintf(stderr, "%s: memory not locked: %s; allow it with a larger memlock limit\n", who,
                strerror(errno));
        touch_stack();
    }
    return granted;
}

static void on_signal(int number)
{
    if (number == SIGUSR1)
        bl_asked_to_stop += 1;
    else
        bl_asked_to_end = 1;
}

void bl_listen_to_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGTSTP, &action, NULL);
}
