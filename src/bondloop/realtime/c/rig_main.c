/* Plays an emulated rig: rig --link URL [options]; see usage(). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet.h"
#include "platform.h"
#include "rig.h"

static int usage(void)
{
    fprintf(stderr,
        "usage: rig --link udp://HOST:PORT|shm://NAME [--timeout S] [--priority P] [--cpu N] [--spin S]\n"
        "           [--fault nan|inf|frozen|stop@N] [--once] [--parent PID]\n");
    return 1;
}

int main(int count, char **words)
{
    const char *url = NULL, *fault = NULL;
    double timeout = 1.0, spin = 0.0;
    bl_demands demands = {.priority = 0, .cpu = -1, .lock = 1};
    bl_rig_options options = {.fault = BL_FAULT_NONE};
    for (int i = 1; i < count; ++i) {
        const char *word = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(word, "--once") == 0) {
            options.once = 1;
            continue;
        }
        if (value == NULL)
            return usage();
        ++i;
        if (strcmp(word, "--link") == 0)
            url = value;
        else if (strcmp(word, "--timeout") == 0)
            timeout = atof(value);
        else if (strcmp(word, "--priority") == 0)
            demands.priority = atoi(value);
        else if (strcmp(word, "--cpu") == 0)
            demands.cpu = atoi(value);
        else if (strcmp(word, "--spin") == 0)
            spin = atof(value);
        else if (strcmp(word, "--fault") == 0)
            fault = value;
        else if (strcmp(word, "--parent") == 0)
            options.parent = atol(value);
        else
            return usage();
    }
    if (url == NULL || !(timeout > 0))
        return usage();
    if (fault != NULL) {
        const char *at = strchr(fault, '@');
        options.fault = strncmp(fault, "nan@", 4) == 0 ? BL_FAULT_NAN
            : strncmp(fault, "inf@", 4) == 0           ? BL_FAULT_INF
            : strncmp(fault, "frozen@", 7) == 0        ? BL_FAULT_FROZEN
            : strncmp(fault, "stop@", 5) == 0          ? BL_FAULT_STOP
                                                       : BL_FAULT_NONE;
        if (options.fault == BL_FAULT_NONE || at == NULL) {
            fprintf(stderr, "rig: --fault must be nan@N, inf@N, frozen@N or stop@N; found %s\n", fault);
            return 1;
        }
        options.fault_at = atoll(at + 1);
    }
    bl_listen_to_signals();
    if (options.parent != 0)
        signal(SIGINT, SIG_IGN); /* Ctrl-C is for the loop, which needs the rig on its way to safety */
    options.timeout_ns = (int64_t)(timeout*1e9);
    options.spin_ns = (int64_t)(spin*1e9);
    bl_port_config config = {.commands = bl_rig->commands, .measured = bl_rig->measured,
        .signature = bl_rig->signature, .timeout_ns = options.timeout_ns, .accepts = bl_rig_accepts,
        .safe = calloc((size_t)bl_rig->commands + 1, sizeof(double))};
    if (config.safe == NULL)
        return 1;
    if (bl_packet_key()) {
        fprintf(stderr, "rig: BONDLOOP_KEY is no key of 32 hexadecimal digits\n");
        return 1;
    }
    const bl_port *port = bl_port_find(url, &config.address);
    if (port == NULL) {
        fprintf(stderr, "rig: a rig listens on udp://HOST:PORT or shm://NAME; found %s\n", url);
        return 1;
    }
    if (port->open(&config)) {
        fprintf(stderr, "rig: %s\n", config.message);
        port->close();
        return 2;
    }
    options.priority = bl_platform(&demands, "rig").fifo ? demands.priority : 0;
    bl_priority(0);
    printf("ready %s\n", config.message);
    fflush(stdout);
    const int code = bl_rig_play(bl_rig, port, &config, &options);
    port->close();
    return code;
}
