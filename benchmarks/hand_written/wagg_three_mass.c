/* The test `wagg-three-mass` as one would write it by hand: numerical half (two masses), MCS controller, transfer
 * system and specimen (third mass), integrated together by Runge-Kutta steps, with the support moving as
 * r(t) = amplitude cos t. benchmarks/loop.py compares its time and its results with those of the generated code.
 */

#include <math.h>

enum { CHANNELS = 12 };

typedef struct {
    double x1, p1, x2, p2;    /* numerical half: stretch of a spring, momentum of a mass */
    double z;                 /* desired displacement */
    double K0, K1, Kr;        /* integral parts of the gains */
    double x3, p3;            /* specimen */
    double pt, zt;            /* transfer system: momentum, displacement */
} hand_state;

typedef struct {
    double k1, m1, c1, k2, m2, c2;
    double alpha, beta, e0, e1;
    double m3, c3, mt, ct, kt;
    double amplitude;
} hand_parameters;

/* What is recorded, besides the state. */
typedef struct {
    double v2, vt, force, u, K0, K1, Kr, e;
} hand_signals;

static inline hand_state hand_rates(const hand_state *x, const hand_parameters *p, double r, double r_rate, hand_signals *y)
{
    hand_state d;
    const double v1 = x->p1/p->m1, v2 = x->p2/p->m2, v3 = x->p3/p->m3, vt = x->pt/p->mt;
    const double f1 = p->k1*x->x1, f2 = p->k2*x->x2, f3 = x->x3*x->x3*x->x3 - x->x3;
    const double e = p->e0*(x->z - x->zt) + p->e1*(v2 - vt);
    const double K0 = x->K0 + p->beta*e*x->zt, K1 = x->K1 + p->beta*e*vt, Kr = x->Kr + p->beta*e*r;
    const double u = K0*x->zt + K1*vt + Kr*r;
    d.x1 = r_rate - v1;
    d.p1 = f1 - f2 - p->c1*v1;
    d.x2 = v1 - v2;
    d.p2 = f2 - f3 - p->c2*v2;
    d.z = v2;
    d.K0 = p->alpha*e*x->zt;
    d.K1 = p->alpha*e*vt;
    d.Kr = p->alpha*e*r;
    d.x3 = vt - v3;
    d.p3 = f3 - p->c3*v3;
    d.pt = u - p->ct*vt - p->kt*x->zt - f3;
    d.zt = vt;
    *y = (hand_signals){v2, vt, f3, u, K0, K1, Kr, e};
    return d;
}

#define EACH(DO) DO(x1) DO(p1) DO(x2) DO(p2) DO(z) DO(K0) DO(K1) DO(Kr) DO(x3) DO(p3) DO(pt) DO(zt)

static inline hand_state hand_moved(const hand_state *x, double h, const hand_state *d)
{
    hand_state moved;
#define MOVE(name) moved.name = x->name + h*d->name;
    EACH(MOVE)
#undef MOVE
    return moved;
}

#if defined(_WIN32)
__declspec(dllexport)
#elif defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void hand_run(long steps, double h, double *state, const double *parameters, double *record)
{
    hand_state x = *(const hand_state *)state;
    const hand_parameters p = *(const hand_parameters *)parameters;
    for (long i = 0; i < steps; ++i) {
        const double t = (double)i*h;
        const double r1 = p.amplitude*cos(t), s1 = -p.amplitude*sin(t);
        const double r2 = p.amplitude*cos(t + h/2), s2 = -p.amplitude*sin(t + h/2);
        const double r4 = p.amplitude*cos(t + h), s4 = -p.amplitude*sin(t + h);
        hand_signals y, unused;
        const hand_state d1 = hand_rates(&x, &p, r1, s1, &y);
        const hand_state at2 = hand_moved(&x, h/2, &d1), d2 = hand_rates(&at2, &p, r2, s2, &unused);
        const hand_state at3 = hand_moved(&x, h/2, &d2), d3 = hand_rates(&at3, &p, r2, s2, &unused);
        const hand_state at4 = hand_moved(&x, h, &d3), d4 = hand_rates(&at4, &p, r4, s4, &unused);
        const double row[CHANNELS] = {
            s1, x.z, x.zt, y.v2, y.vt, y.force, y.u, y.K0, y.K1, y.Kr, y.e, y.vt - y.v2,
        };
        for (int j = 0; j < CHANNELS; ++j)
            record[j] = row[j];
        record += CHANNELS;
#define STEP(name) x.name += h/6*(d1.name + 2*(d2.name + d3.name) + d4.name);
        EACH(STEP)
#undef STEP
    }
    *(hand_state *)state = x;
}
