/* Functions that generated C may need, each written only where it is used; see c_helpers.py. */
//// codes
/* Bits of a status: why a run stopped. */
enum { NAME_BEYOND = @BEYOND@, NAME_NOT_A_NUMBER = @NOT_A_NUMBER@, NAME_SINGULAR = @SINGULAR@, NAME_UNCONVERGED = @UNCONVERGED@, NAME_UNSETTLED = @UNSETTLED@ };
//// sign

static inline double NAME_sign(double x)
{
    return (double)((x > 0.0) - (x < 0.0));
}
//// fmin

static inline double NAME_fmin(double x, double y)
{
    return x < y || y != y ? x : y;
}
//// fmax

static inline double NAME_fmax(double x, double y)
{
    return x > y || y != y ? x : y;
}
//// solve1

/* One linear equation. */
static inline double NAME_solve1(double a, double b, int *status)
{
    if (a == 0.0) {
        *status |= NAME_SINGULAR;
        return NAN;
    }
    return b/a;
}
//// solve2

/* Two linear equations, in place, by elimination with the larger pivot. */
static inline void NAME_solve2(double *a, double *b, int *status)
{
    const int lower = fabs(a[2]) > fabs(a[0]);
    const double p = lower ? a[2] : a[0], q = lower ? a[3] : a[1], u = lower ? b[1] : b[0];
    const double r = lower ? a[0] : a[2], w = lower ? a[1] : a[3], v = lower ? b[0] : b[1];
    const double ratio = r/p;
    const double pivot = w - ratio*q;
    if (p == 0.0 || pivot == 0.0) {
        *status |= NAME_SINGULAR;
        b[0] = b[1] = NAN;
        return;
    }
    b[1] = (v - ratio*u)/pivot;
    b[0] = (u - q*b[1])/p;
}
//// solve

/* n linear equations, in place. */
static void NAME_solve(int n, double *a, double *b, int *status)
{
    if (NAME_eliminate(n, a, b))
        return;
    *status |= NAME_SINGULAR;
    for (int i = 0; i < n; ++i)
        b[i] = NAN;
}
//// philox

/* Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011): four random words of a seed, a stream and a counter;
   0 unless these are whole numbers below 2^53, 2^32 and 2^53. */
static inline int NAME_philox(double seed, double stream, double counter, uint32_t *w)
{
    if (!(seed >= 0.0 && seed < 9007199254740992.0 && counter >= 0.0 && counter < 9007199254740992.0
          && stream >= 0.0 && stream < 4294967296.0
          && floor(seed) == seed && floor(stream) == stream && floor(counter) == counter))
        return 0;
    uint32_t k0 = (uint32_t)(uint64_t)seed, k1 = (uint32_t)((uint64_t)seed >> 32);
    uint32_t c0 = (uint32_t)(uint64_t)counter, c1 = (uint32_t)((uint64_t)counter >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = 0;
    for (int i = 0; i < @ROUNDS@; ++i) {
        const uint64_t p0 = (uint64_t)@FIRST_MULTIPLIER@u*c0;
        const uint64_t p1 = (uint64_t)@SECOND_MULTIPLIER@u*c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += @FIRST_WEYL@u;
        k1 += @SECOND_WEYL@u;
    }
    w[0] = c0;
    w[1] = c1;
    w[2] = c2;
    w[3] = c3;
    return 1;
}

/* 52 random bits and a half: never 0, never 1, and exact. */
static inline double NAME_fraction(uint32_t high, uint32_t low)
{
    return ((double)(high >> 6)*67108864.0 + (double)(low >> 6) + 0.5)*2.220446049250313e-16;
}
//// uniform

static inline double NAME_uniform(double seed, double stream, double counter)
{
    uint32_t w[4] = {0};
    return NAME_philox(seed, stream, counter, w) ? NAME_fraction(w[0], w[1]) : NAN;
}
//// normal

/* Box and Muller (1958), with the logarithm and the waves as series, so that every machine rounds alike. */
static inline double NAME_normal(double seed, double stream, double counter)
{
    uint32_t w[4] = {0};
    if (!NAME_philox(seed, stream, counter, w))
        return NAN;
    int e;
    double m = frexp(NAME_fraction(w[0], w[1]), &e);
    if (m < @SQRT_HALF@) {
        m = 2.0*m;
        e -= 1;
    }
    const double f = (m - 1.0)/(m + 1.0);
    const double ff = f*f;
    const double logarithm = (double)e*@LN2@ + f*(@LOG_SERIES@);
    const double x = 4.0*NAME_fraction(w[2], w[3]);
    const int quadrant = (int)(x + 0.5);
    const double angle = (x - (double)quadrant)*@HALF_PI@;
    const double square = angle*angle;
    const double cosine = @COS_SERIES@;
    const double sine = angle*(@SIN_SERIES@);
    const double wave = quadrant == 1 ? -sine : quadrant == 2 ? -cosine : quadrant == 3 ? sine : cosine;
    return sqrt(-2.0*logarithm)*wave;
}
