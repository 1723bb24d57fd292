/* The rig is an FMU in the same process: it takes a step with every command. Python puts the host of the FMU before
 * this text. As long as nothing is commanded it stays where it is.
 */
#include "link.h"

static bl_link_config *fmu_loop;
static double fmu_shown[HOST_OUTPUTS + 1], fmu_given[HOST_INPUTS + 1];
static int fmu_moves, fmu_fresh;

static int fmu_open(bl_link_config *config, double *measured)
{
    fmu_loop = config;
    if (config->commands != HOST_INPUTS || config->measured != HOST_OUTPUTS || fabs(config->period - HOST_PERIOD) > 1e-9*HOST_PERIOD) {
        snprintf(config->message, sizeof config->message, "the FMU was bound to another test; build the loop again");
        return BL_LINK_FAILED;
    }
    if (host_begin() || host_take(fmu_shown)) {
        snprintf(config->message, sizeof config->message, "%.255s", host.message);
        return BL_LINK_FAILED;
    }
    memcpy(measured, fmu_shown, sizeof(double)*HOST_OUTPUTS);
    fmu_fresh = 1;
    config->emulated = 1;
    return BL_LINK_FRESH;
}

static int fmu_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    if (commands != NULL) {
        if (fmu_loop->enable) { /* else it stays at the last command that it has obeyed */
            memcpy(fmu_given, commands, sizeof(double)*HOST_INPUTS);
            fmu_moves = 1;
        }
        if (fmu_moves && (host_give(fmu_given) || host_step(HOST_PERIOD) || host_take(fmu_shown))) {
            fprintf(stderr, "%s\n", host.message);
            return BL_LINK_LOST;
        }
        counts->sent += 1;
    }
    if (commands != NULL || measured == NULL)
        fmu_fresh = 1;
    if (measured == NULL || !fmu_fresh)
        return BL_LINK_OLD;
    memcpy(measured, fmu_shown, sizeof(double)*HOST_OUTPUTS);
    counts->received += 1;
    fmu_fresh = 0;
    return BL_LINK_FRESH;
}

static void fmu_close(void)
{
    if (host.instance != NULL) {
        host.terminate(host.instance);
        host.release(host.instance);
        host.instance = NULL;
    }
}

const bl_link bl_link_fmu = {"fmu", BL_LINK_REAL_TIME | BL_LINK_LOCK_STEP | BL_LINK_EMULATED, fmu_open, fmu_exchange,
    fmu_close};
