/* Times ticks one by one: wall clock and the thread's own CPU clock, in ns; see nonlinear_frame_test.py. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <time.h>

typedef int (*run_function)(long, long, double, const double *, double *, double *, double *, long, long *, long *);

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* With pause_ns the thread sleeps until the next instant before each tick, as a loop in real time does. */
int time_ticks(run_function run, long ticks, double period, const double *inputs, long width, double *state,
               double *parameters, double *channels, int64_t pause_ns, int64_t *wall, int64_t *cpu)
{
    int64_t planned = now(CLOCK_MONOTONIC);
    for (long k = 0; k < ticks; k++) {
        if (pause_ns) {
            planned += pause_ns;
            const int64_t here = now(CLOCK_MONOTONIC);
            if (here > planned)
                planned = here;
            const struct timespec until = {planned / 1000000000, planned % 1000000000};
            while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0) == EINTR) {
            }
        }
        long stopped, channel;
        const int64_t w = now(CLOCK_MONOTONIC), c = now(CLOCK_THREAD_CPUTIME_ID);
        const int code = run(1, k, period, inputs + k * width, state, parameters, channels, 1, &stopped, &channel);
        cpu[k] = now(CLOCK_THREAD_CPUTIME_ID) - c;
        wall[k] = now(CLOCK_MONOTONIC) - w;
        if (code)
            return code;
    }
    return 0;
}
