// The frame of a tick for a graphics processor, a test in each thread; see cuda.py.
//// preamble
#if !defined(NAN)
#define NAN __longlong_as_double(0x7ff8000000000000ll)
#define INFINITY __longlong_as_double(0x7ff0000000000000ll)
#endif
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
//// tests
// A test in each thread. State, lines and varied values lie value by value, each with all tests side by side.
extern "C" __global__ void NAME_tests(long long tests, long long steps, long long first, double period,
    const double *inputs, double *state, const double *varied, long long *ends)
{
    const long long test = (long long)blockIdx.x*blockDim.x + threadIdx.x;
    if (test >= tests || ends[test] != 0)
        return;
    NAME_state own, *const s = &own;
    NAME_varied given, *const p = &given;
    double *const lines = state + @SCALARS@*tests + test;
    int failed = 0, *const status = &failed;
    (void)s, (void)p, (void)lines, (void)inputs, (void)status;
@LOAD@
    for (long long i = 0; i < steps; ++i) {
        const double k = (double)(first + i), t = k*period;
        const double *const in = inputs + i*@INPUTS@;
        double channels[@ROW@];
        long long channel = -1;
        (void)t, (void)in, (void)channels;
@BODY@
@OUTSIDE@
        if (channel >= 0 || failed) {
            if (channel >= 0)
                failed |= channels[channel] != channels[channel] ? NAME_NOT_A_NUMBER : NAME_BEYOND;
            ends[test] = failed;
            ends[tests + test] = first + i;
            ends[2*tests + test] = channel;
            break;
        }
    }
@SAVE@
}
