/* Whether a number is finite, by its bits: no option of the compiler that lets it believe that there is no NaN and no
 * infinity can take that away. Such options would remove every comparison that a NaN must fail, in guard and tick, without
 * a word, so whatever is compiled with this header refuses them; and those that round otherwise than the rehearsal does.
 * bondloop/compile/c_writer.py puts the same lines into every tick. The self-test finds what no macro tells.
 */
#ifndef BL_FINITE_H
#define BL_FINITE_H

#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) \
    || defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST) || (__FINITE_MATH_ONLY__ + 0)
#error "bondloop refuses -ffast-math, -Ofast and their kin: the guard against NaN would be compiled away"
#endif

/* The exponent of what is no finite number is all ones. */
static inline int bl_is_finite(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}

static inline int bl_is_nan(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
}

#endif
