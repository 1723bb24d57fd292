/* The rig in the same process: its tick is linked in and advances with every command. */
#include <stdio.h>
#include <string.h>

#include "link.h"
#include "model.h"

static bl_model model;
static long ratio;
static int fresh;
static double shown[256];

static int loopback_open(bl_link_config *config, double *measured)
{
    if (bl_rig == NULL) {
        snprintf(config->message, sizeof config->message,
            "loopback:// needs the rig's tick in the same program; build the loop with its rig");
        return BL_LINK_FAILED;
    }
    ratio = bl_model_ratio(bl_rig, config->period);
    if (ratio == 0) {
        snprintf(config->message, sizeof config->message,
            "the loop's period of %g s is no whole multiple of the rig's, %g s", config->period, bl_rig->period);
        return BL_LINK_FAILED;
    }
    if (bl_rig->measured > 256 || bl_model_make(&model, bl_rig)) {
        snprintf(config->message, sizeof config->message, "the rig in this process does not fit into memory");
        return BL_LINK_FAILED;
    }
    bl_model_measure(&model, measured);
    memcpy(shown, measured, sizeof(double)*(size_t)bl_rig->measured);
    fresh = 1;
    return BL_LINK_FRESH;
}

static int loopback_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    if (commands != NULL) {
        for (long i = 0; i < ratio; ++i)
            bl_model_advance(&model, commands);
        bl_model_measure(&model, shown);
        counts->sent += 1;
    }
    if (commands != NULL || measured == NULL)
        fresh = 1; /* where nothing is commanded the rig stands still: its sensors show the same again */
    if (measured == NULL || !fresh)
        return BL_LINK_OLD;
    memcpy(measured, shown, sizeof(double)*(size_t)bl_rig->measured);
    counts->received += 1;
    fresh = 0;
    return BL_LINK_FRESH;
}

static void loopback_close(void)
{
}

const bl_link bl_link_loopback = {"loopback", BL_LINK_REAL_TIME | BL_LINK_LOCK_STEP | BL_LINK_EMULATED,
    loopback_open, loopback_exchange, loopback_close};
