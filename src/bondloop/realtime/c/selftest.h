/* The safety layer tries itself at each start, in the very binary that is to guard the rig, before anything is enabled. */
#ifndef BL_SELFTEST_H
#define BL_SELFTEST_H

#include "executive.h"

/* Tries guard, executive and mailbox with a tick of their own, then the test's tick with the limits that the test states
 * of its interlock; on memory of its own, so that neither the telemetry nor the rig notices. `measured` is what the link
 * has shown, used where the tick does not bear zeros. Writes JSON into `words`: passed, cases, seconds, the first failure
 * in words, and what was not tried. 1 if all is well; 0 if not; -1 if a signal to end or stop came meanwhile. */
int bl_self_test(const bl_interface *tick, const bl_options *options, bl_link_config *wire, const double *measured,
    char *words, size_t size);

/* The first failure, in words. */
const char *bl_self_test_failure(void);

#endif
