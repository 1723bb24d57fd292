/* No rig: measured values stay zero. For trying a loop, and for measuring what the executive itself costs. */
#include <string.h>

#include "link.h"

static int none_open(bl_link_config *config, double *measured)
{
    memset(measured, 0, sizeof(double)*(size_t)config->measured);
    return BL_LINK_FRESH;
}

static int none_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    counts->sent += commands != NULL;
    counts->received += measured != NULL;
    return BL_LINK_FRESH;
}

static void none_close(void)
{
}

const bl_link bl_link_none = {
    "none", BL_LINK_REAL_TIME | BL_LINK_LOCK_STEP | BL_LINK_EMULATED, none_open, none_exchange, none_close};
