/* Plays an emulated rig: rig --link URL [options]; see usage(). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number_options.h"
#include "packet.h"
#include "platform.h"
#include "rig.h"

/* What counts in ns, in 64 bits, must not overflow. */
#define LARGEST 2e9

static int usage(const char *what)
{
    fprintf(stderr,
        "usage: rig --link udp://HOST:PORT|shm://NAME [--timeout S] [--priority P] [--cpu N] [--spin S]\n"
        "           [--fault nan|inf|frozen|stop@N] [--once] [--parent PID]\n"
        "rig: %s\n",
        what);
    return 1;
}

/* Reads "nan@N"; 0, or -1 for what is no fault. */
static int read_fault(const char *text, bl_rig_options *options)
{
    const struct {
        const char *word;
        int fault;
    } faults[] = {
        {"nan@", BL_FAULT_NAN}, {"inf@", BL_FAULT_INF}, {"frozen@", BL_FAULT_FROZEN}, {"stop@", BL_FAULT_STOP}};
    for (size_t j = 0; j < sizeof faults/sizeof faults[0]; ++j) {
        const size_t length = strlen(faults[j].word);
        if (strncmp(text, faults[j].word, length) == 0) {
            char *end;
            options->fault = faults[j].fault;
            options->fault_at = strtoll(text + length, &end, 10);
            return *end != '\0' || end == text + length ? -1 : 0;
        }
    }
    return -1;
}

int main(int count, char **words)
{
    const char *url = NULL, *fault = NULL;
    double timeout = 1.0, spin = 0.0, priority = 0, cpu = -1, parent = 0;
    bl_demands demands = {.priority = 0, .cpu = -1, .lock = 1};
    bl_rig_options options = {.fault = BL_FAULT_NONE};
    const bl_number_option numbers[] = {{"--timeout", &timeout, 0, LARGEST}, {"--priority", &priority, 0, 99},
        {"--cpu", &cpu, -1, 1e6}, {"--spin", &spin, 0, LARGEST}, {"--parent", &parent, 0, LARGEST}};
    for (int i = 1; i < count; ++i) {
        const char *word = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        if (strcmp(word, "--once") == 0) {
            options.once = 1;
            continue;
        }
        if (value == NULL)
            return usage("an option needs a value, or is not known");
        ++i;
        const int outcome = bl_read_number(numbers, sizeof numbers/sizeof numbers[0], word, value, "rig");
        if (outcome == BL_OPTION_NO_NUMBER)
            return usage("an option has a value that is no number");
        if (outcome == BL_OPTION_OUTSIDE)
            return 1;
        if (outcome == BL_OPTION_READ)
            continue;
        if (strcmp(word, "--link") == 0)
            url = value;
        else if (strcmp(word, "--fault") == 0)
            fault = value;
        else
            return usage("an option is not known");
    }
    if (url == NULL)
        return usage("--link is needed");
    if (!(timeout > 0))
        return usage("--timeout must be positive, in seconds: else the rig never waits for a command");
    if (fault != NULL && read_fault(fault, &options)) {
        fprintf(stderr, "rig: --fault must be nan@N, inf@N, frozen@N or stop@N; found %s\n", fault);
        return 1;
    }
    demands.priority = (int)priority;
    demands.cpu = (int)cpu;
    options.parent = (long)parent;
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
