/* The frame of a tick for many tests side by side; see c_lanes.py. */
//// types
#define NAME_WIDTH @WIDTH@
/* A value of each test of a pack; as aligned as a double, so that a pack may lie anywhere. */
typedef double NAME_wide __attribute__((vector_size(8*NAME_WIDTH), aligned(8)));
typedef int64_t NAME_mask __attribute__((vector_size(8*NAME_WIDTH), aligned(8)));

/* x - 0 is x, a negative zero and NaN included. */
static inline NAME_wide NAME_all(double x)
{
    return x - (NAME_wide){0.0};
}

static inline NAME_mask NAME_same(int truth)
{
    return -(int64_t)(truth != 0) - (NAME_mask){0};
}

static inline NAME_wide NAME_choose(NAME_mask test, NAME_wide yes, NAME_wide no)
{
    return (NAME_wide)(((NAME_mask)yes & test) | ((NAME_mask)no & ~test));
}

static inline NAME_wide NAME_lanes_size(NAME_wide x)
{
    return (NAME_wide)((NAME_mask)x & NAME_same(1) & INT64_MAX);
}

static inline int NAME_any(NAME_mask test)
{
    int64_t any = 0;
    for (int lane = 0; lane < NAME_WIDTH; ++lane)
        any |= test[lane];
    return any != 0;
}
//// fabs

static inline NAME_wide NAME_lanes_fabs(NAME_wide x)
{
    return NAME_lanes_size(x);
}
//// sign

static inline NAME_wide NAME_lanes_sign(NAME_wide x)
{
    const NAME_wide one = NAME_all(1.0), zero = NAME_all(0.0);
    return NAME_choose((NAME_mask)(x > 0.0), one, zero) - NAME_choose((NAME_mask)(x < 0.0), one, zero);
}
//// fmin

static inline NAME_wide NAME_lanes_fmin(NAME_wide x, NAME_wide y)
{
    return NAME_choose((NAME_mask)(x < y) | (NAME_mask)(y != y), x, y);
}
//// fmax

static inline NAME_wide NAME_lanes_fmax(NAME_wide x, NAME_wide y)
{
    return NAME_choose((NAME_mask)(x > y) | (NAME_mask)(y != y), x, y);
}
//// solve1

static inline NAME_wide NAME_lanes_solve1(NAME_wide a, NAME_wide b, int *status)
{
    const NAME_mask singular = (NAME_mask)(a == 0.0);
    if (NAME_any(singular))
        for (int lane = 0; lane < NAME_WIDTH; ++lane)
            status[lane] |= singular[lane] ? NAME_SINGULAR : 0;
    return NAME_choose(singular, NAME_all(NAN), b/a);
}
//// solve2

static inline void NAME_lanes_solve2(NAME_wide *a, NAME_wide *b, int *status)
{
    const NAME_mask lower = (NAME_mask)(NAME_lanes_size(a[2]) > NAME_lanes_size(a[0]));
    const NAME_wide p = NAME_choose(lower, a[2], a[0]), q = NAME_choose(lower, a[3], a[1]);
    const NAME_wide r = NAME_choose(lower, a[0], a[2]), w = NAME_choose(lower, a[1], a[3]);
    const NAME_wide u = NAME_choose(lower, b[1], b[0]), v = NAME_choose(lower, b[0], b[1]);
    const NAME_wide ratio = r/p;
    const NAME_wide pivot = w - ratio*q;
    const NAME_mask singular = (NAME_mask)(p == 0.0) | (NAME_mask)(pivot == 0.0);
    if (NAME_any(singular))
        for (int lane = 0; lane < NAME_WIDTH; ++lane)
            status[lane] |= singular[lane] ? NAME_SINGULAR : 0;
    const NAME_wide second = (v - ratio*u)/pivot;
    b[0] = NAME_choose(singular, NAME_all(NAN), (u - q*second)/p);
    b[1] = NAME_choose(singular, NAME_all(NAN), second);
}
//// solve

/* n linear equations: which row comes next is another one in every lane. */
static void NAME_lanes_solve(int n, const NAME_wide *a, NAME_wide *b, double *work, double *one, int *status)
{
    for (int lane = 0; lane < NAME_WIDTH; ++lane) {
        for (int i = 0; i < n*n; ++i)
            work[i] = a[i][lane];
        for (int i = 0; i < n; ++i)
            one[i] = b[i][lane];
        NAME_solve(n, work, one, status + lane);
        for (int i = 0; i < n; ++i)
            b[i][lane] = one[i];
    }
}
//// tick
static inline __attribute__((always_inline)) void NAME_tick(NAME_state *s, NAME_lines *lines, const NAME_varied *p,
    const double *in, double t, double k, NAME_wide *channels, int *status)
{
    (void)s, (void)lines, (void)p, (void)in, (void)t, (void)k, (void)channels, (void)status;
//// run
/* Puts a test away. Where a delay line stands is counted in the first lane, for all. */
static inline __attribute__((always_inline)) void NAME_put(double *state, const NAME_wide *wide,
    const NAME_wide *line, int lane)
{
    for (int j = 0; j < @N_SCALARS@; ++j)
        state[j] = wide[j][@POSITIONS@ <= j && j < @N_POSITIONS@ + @POSITIONS@ ? 0 : lane];
    for (int j = 0; j < @N_LINES@; ++j)
        state[@N_SCALARS@ + j] = line[j][lane];
}

/* Runs one pack; a test that stops is put away as it is then, the others go on as if it were not there. */
static void NAME_pack(long steps, long first, double period, const double *inputs, double *const *state,
    const double *const *varied, double *work, long *const *ends)
{
    NAME_state s;
    NAME_varied p;
    NAME_lines *const lines = (NAME_lines *)work;
    NAME_wide *const wide = (NAME_wide *)&s, *const given = (NAME_wide *)&p, *const line = (NAME_wide *)work;
    (void)given, (void)line, (void)varied;
    NAME_mask living = NAME_same(1);
    int status[NAME_WIDTH] = {0};
    for (int lane = 0; lane < NAME_WIDTH; ++lane) {
        for (int j = 0; j < @N_SCALARS@; ++j)
            wide[j][lane] = state[lane][j];
        for (int j = 0; j < @N_LINES@; ++j)
            line[j][lane] = state[lane][@N_SCALARS@ + j];
        for (int j = 0; j < @N_VARIED@; ++j)
            given[j][lane] = varied[lane][j];
        ends[lane][0] = 0;
        ends[lane][1] = ends[lane][2] = -1;
    }
    for (long i = 0; i < steps; ++i) {
        const double k = (double)(first + i);
        NAME_wide row[@N_ROW@];
        NAME_tick(&s, lines, &p, inputs, k*period, k, row, status);
        inputs += @N_INPUTS@;
        NAME_mask good = NAME_same(1);
#define LOOK(number, inside) good &= inside;
@OUTSIDE@
#undef LOOK
        int stops = NAME_any(living & ~good);
        for (int lane = 0; lane < NAME_WIDTH; ++lane)
            stops |= status[lane];
        if (!stops)
            continue;
        for (int lane = 0; lane < NAME_WIDTH; ++lane) {
            long channel = -1;
            if (!living[lane])
                continue;
#define LOOK(number, inside) if (channel < 0 && !(inside)[lane]) channel = number;
@OUTSIDE@
#undef LOOK
            if (channel < 0 && !status[lane])
                continue;
            if (channel >= 0)
                status[lane] |= row[channel][lane] != row[channel][lane] ? NAME_NOT_A_NUMBER : NAME_BEYOND;
            ends[lane][0] = status[lane];
            ends[lane][1] = first + i;
            ends[lane][2] = channel;
            NAME_put(state[lane], wide, line, lane);
            living[lane] = 0;
        }
        memset(status, 0, sizeof status);
        if (!NAME_any(living))
            return;
    }
    for (int lane = 0; lane < NAME_WIDTH; ++lane)
        if (living[lane])
            NAME_put(state[lane], wide, line, lane);
}

/* Runs tests; of the last pack, lanes that are left over repeat the last test into memory of their own. */
__attribute__((visibility("default"))) void NAME_batch(long tests, long steps, long first, double period,
    const double *inputs, double *state, const double *varied, double *work, long *ends)
{
    double *const spare = work + @N_LINES@*NAME_WIDTH;
    long unused[3];
    for (long at = 0; at < tests; at += NAME_WIDTH) {
        double *states[NAME_WIDTH];
        const double *values[NAME_WIDTH];
        long *end[NAME_WIDTH];
        for (int lane = 0; lane < NAME_WIDTH; ++lane) {
            const long test = at + lane < tests ? at + lane : tests - 1;
            states[lane] = state + test*@N_STATE@;
            values[lane] = varied + test*@N_VARIED@;
            end[lane] = ends + test*3;
            if (at + lane >= tests) {
                if (at + lane == tests || lane == 0)
                    memcpy(spare, states[lane], @N_STATE@*sizeof(double));
                states[lane] = spare;
                end[lane] = unused;
            }
        }
        NAME_pack(steps, first, period, inputs, states, values, work, end);
    }
}
