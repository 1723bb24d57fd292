/* The frame of a tick in C; see c_writer.py. */
//// preamble
#if defined(_WIN32)
#define NAME_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define NAME_EXPORT __attribute__((visibility("default")))
#else
#define NAME_EXPORT
#endif
#if defined(__GNUC__)
#define NAME_INLINE static inline __attribute__((always_inline))
#else
#define NAME_INLINE static inline
#endif
//// counts
/* Doubles in the state, the inputs of a tick, the parameters, the channels. */
extern NAME_EXPORT const long NAME_counts[4];
const long NAME_counts[4] = {@N_STATE@, @N_INPUTS@, @N_PARAMETERS@, @N_CHANNELS@};
//// numbers
/* Large tables, @DIGEST@: whoever loads the library hands them over once, and keeps them. */
static const double *NAME_doubles;
static const int *NAME_ints;

NAME_EXPORT void NAME_take(const double *doubles, const int *ints);
void NAME_take(const double *doubles, const int *ints)
{
    NAME_doubles = doubles;
    NAME_ints = ints;
}
//// cells
#if defined(_MSC_VER)
#define NAME_OF_THREAD __declspec(thread)
#define NAME_APART __declspec(noinline)
#elif defined(__GNUC__)
#define NAME_OF_THREAD __thread
#define NAME_APART __attribute__((noinline))
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define NAME_OF_THREAD _Thread_local
#else
#define NAME_OF_THREAD
#endif
#if !defined(NAME_APART)
#define NAME_APART
#endif

/* What a tick computes on its way and loops over many variables need: too much for a stack. Nothing in it
   outlives the tick. */
static NAME_OF_THREAD double NAME_cells[@N_CELLS@];

/* Apart, or gcc looks for the thread's memory in every turn of every loop: three times as long. */
static NAME_APART double *NAME_own_cells(void)
{
    return NAME_cells;
}
//// tick
@TICK_KIND@ void NAME_tick(NAME_state *s, @LINES_PARAMETER@@CELLS_PARAMETER@@NUMBERS_PARAMETER@const NAME_parameters *p,
    const double *in, double t, double k, double *channels, int *status)
{
    (void)s, (void)p, (void)in, (void)t, (void)k, (void)channels, (void)status;
//// run
/* Executes ticks `first`, `first` + 1, ...; records those whose number `every` divides; stops at a fault.
   The state holds the NAME_state and behind it the delay lines. */
NAME_EXPORT int NAME_run(long steps, long first, double period, const double *inputs, double *state,
    const double *parameters, double *record, long every, long *stopped_at, long *stopped_channel)
{
    @COPY_IN@;
    const NAME_parameters p = *(const NAME_parameters *)parameters;
    long wait = (every - first % every) % every;
    int status = 0;
    *stopped_at = -1;
    *stopped_channel = -1;
    for (long i = 0; i < steps; ++i) {
        const double k = (double)(first + i);
        double row[@N_ROW@];
        NAME_tick(@THE_STATE@, @LINES_ARGUMENT@@CELLS_ARGUMENT@@NUMBERS_ARGUMENT@&p, inputs,
            k*period, k, row, &status);
        inputs += @N_INPUTS@;
        if (wait == 0) {
            for (int j = 0; j < @N_CHANNELS@; ++j)
                record[j] = row[j];
            record += @N_CHANNELS@;
            wait = every;
        }
        --wait;
        const long channel = NAME_outside(row);
        if (channel >= 0 || status) {
            if (channel >= 0)
                status |= row[channel] != row[channel] ? NAME_NOT_A_NUMBER : NAME_BEYOND;
            *stopped_at = first + i;
            *stopped_channel = channel;
            break;
        }
    }
@COPY_OUT@    return status;
}
//// once
/* Executes one tick in place, for a loop that is paced elsewhere; the channels are checked as in a run. */
NAME_EXPORT int NAME_tick_once(double *state, const double *parameters, const double *in, double t, double k,
    double *channels)
{
    int status = 0;
    const NAME_parameters *p = (const NAME_parameters *)parameters;
    NAME_tick((NAME_state *)state,
        @LINES_ARGUMENT@@CELLS_ARGUMENT@@NUMBERS_ARGUMENT@p, in, t, k, channels, &status);
    const long channel = NAME_outside(channels);
    if (channel >= 0)
        status |= channels[channel] != channels[channel] ? NAME_NOT_A_NUMBER : NAME_BEYOND;
    return status;
}
