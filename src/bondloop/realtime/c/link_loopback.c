/* The rig in the same process: its tick is linked in and advances with every command. With loopback://stop@N its
 * emergency stop is pressed from measurement N on (from 0), to rehearse what becomes of the test then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "model.h"

static bl_model model;
static long ratio;
static int fresh;
static double shown[256], given[256];
static bl_link_config *loop;
static long stop_at, number; /* -1: never; of the measurement that is shown */
static int moves;            /* it has been commanded something while it was enabled */

static int loopback_open(bl_link_config *config, double *measured)
{
    if (bl_rig == NULL) {
        snprintf(config->message, sizeof config->message,
            "loopback:// needs the rig's tick in the same program; build the loop with its rig");
        return BL_LINK_FAILED;
    }
    loop = config;
    char *end = "";
    stop_at = -1;
    if (strncmp(config->address, "stop@", 5) == 0)
        stop_at = strtol(config->address + 5, &end, 10);
    if (*end != '\0' || (config->address[0] != '\0' && stop_at < 0)) {
        snprintf(config->message, sizeof config->message, "expected loopback:// or loopback://stop@N; found loopback://%s",
            config->address);
        return BL_LINK_FAILED;
    }
    ratio = bl_model_ratio(bl_rig, config->period);
    if (ratio == 0) {
        snprintf(config->message, sizeof config->message,
            "the loop's period of %g s is no whole multiple of the rig's, %g s", config->period, bl_rig->period);
        return BL_LINK_FAILED;
    }
    if (bl_rig->measured > 256 || bl_rig->commands > 256 || bl_model_make(&model, bl_rig)) {
        snprintf(config->message, sizeof config->message, "the rig in this process does not fit into memory");
        return BL_LINK_FAILED;
    }
    bl_model_measure(&model, measured);
    memcpy(shown, measured, sizeof(double)*(size_t)bl_rig->measured);
    fresh = 1;
    config->tells_stop = 1;
    config->stopped = stop_at == 0;
    return BL_LINK_FRESH;
}

static int loopback_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    if (commands != NULL) {
        if (!loop->stopped && loop->enable) { /* else it stays at the last command that it has obeyed */
            memcpy(given, commands, sizeof(double)*(size_t)bl_rig->commands);
            moves = 1;
        }
        for (long i = 0; moves && i < ratio; ++i)
            bl_model_advance(&model, given);
        bl_model_measure(&model, shown);
        number += 1;
        counts->sent += 1;
    }
    if (commands != NULL || measured == NULL)
        fresh = 1; /* where nothing is commanded the rig stands still: its sensors show the same again */
    if (measured == NULL || !fresh)
        return BL_LINK_OLD;
    memcpy(measured, shown, sizeof(double)*(size_t)bl_rig->measured);
    loop->stopped = stop_at >= 0 && number >= stop_at;
    counts->received += 1;
    fresh = 0;
    return BL_LINK_FRESH;
}

static void loopback_close(void)
{
}

const bl_link bl_link_loopback = {"loopback", BL_LINK_REAL_TIME | BL_LINK_LOCK_STEP | BL_LINK_EMULATED,
    loopback_open, loopback_exchange, loopback_close};
