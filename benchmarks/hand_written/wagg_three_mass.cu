// `wagg-three-mass` as one would write it by hand for a card: a test in each thread, three parameters of the transfer
// system varied, the others literals, the support's motion computed once for each tick, the error accumulated.
// benchmarks/studies.py compares its time and its results with those of the generated code.

struct hand_state {
    double x1, p1, x2, p2, z, K0, K1, Kr, x3, p3, pt, zt;
};

#define EACH(DO) DO(x1) DO(p1) DO(x2) DO(p2) DO(z) DO(K0) DO(K1) DO(Kr) DO(x3) DO(p3) DO(pt) DO(zt)

static __device__ __forceinline__ hand_state hand_rates(const hand_state &x, double mt, double kt, double ct, double r,
    double rate)
{
    hand_state d;
    const double v1 = x.p1, v2 = x.p2, v3 = x.p3, vt = x.pt/mt;
    const double f1 = x.x1, f2 = x.x2, f3 = x.x3*x.x3*x.x3 - x.x3;
    const double e = 400.0*(x.z - x.zt) + (v2 - vt);
    const double u = (x.K0 + 10.0*e*x.zt)*x.zt + (x.K1 + 10.0*e*vt)*vt + (x.Kr + 10.0*e*r)*r;
    d.x1 = rate - v1;
    d.p1 = f1 - f2 - 0.1*v1;
    d.x2 = v1 - v2;
    d.p2 = f2 - f3 - 0.1*v2;
    d.z = v2;
    d.K0 = 100.0*e*x.zt;
    d.K1 = 100.0*e*vt;
    d.Kr = 100.0*e*r;
    d.x3 = vt - v3;
    d.p3 = f3 - 0.1*v3;
    d.pt = u - ct*vt - kt*x.zt - f3;
    d.zt = vt;
    return d;
}

static __device__ __forceinline__ hand_state hand_moved(const hand_state &x, double h, const hand_state &d)
{
    hand_state moved;
#define MOVE(name) moved.name = x.name + h*d.name;
    EACH(MOVE)
#undef MOVE
    return moved;
}

extern "C" __global__ void hand_same(long long steps, double h, double *same)
{
    const long long i = (long long)blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= steps)
        return;
    for (int part = 0; part < 3; ++part)
        sincos((double)i*h + 0.5*part*h, &same[i*6 + 2*part + 1], &same[i*6 + 2*part]);
}

// Varied values lie mass by mass, then stiffness by stiffness, then damping by damping.
extern "C" __global__ void hand_tests(long long tests, long long steps, double h, const double *same,
    const double *varied, double *error)
{
    const long long test = (long long)blockIdx.x*blockDim.x + threadIdx.x;
    if (test >= tests)
        return;
    const double mt = varied[test], kt = varied[tests + test], ct = varied[2*tests + test];
    hand_state x = {0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    double sum = 0.0, whole = 0.0;
    for (long long i = 0; i < steps; ++i) {
        const double *const s = same + i*6;
        sum += (x.zt - x.z)*(x.zt - x.z);
        whole += x.z*x.z;
        const hand_state d1 = hand_rates(x, mt, kt, ct, 0.5*s[0], -0.5*s[1]);
        const hand_state d2 = hand_rates(hand_moved(x, h/2, d1), mt, kt, ct, 0.5*s[2], -0.5*s[3]);
        const hand_state d3 = hand_rates(hand_moved(x, h/2, d2), mt, kt, ct, 0.5*s[2], -0.5*s[3]);
        const hand_state d4 = hand_rates(hand_moved(x, h, d3), mt, kt, ct, 0.5*s[4], -0.5*s[5]);
#define STEP(name) x.name += h/6*(d1.name + 2*(d2.name + d3.name) + d4.name);
        EACH(STEP)
#undef STEP
    }
    error[test] = sqrt(sum/whole);
}
