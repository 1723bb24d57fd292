/* Runs a test: loop --link URL [options]; see usage(). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channels.h"
#include "executive.h"
#include "number_options.h"
#include "packet.h"
#include "selftest.h"
#include "shelter.h"

static int usage(const char *what)
{
    fprintf(stderr,
        "usage: loop --link URL [--telemetry NAME] [--slots N] [--table FILE] [--set PARAMETER=VALUE]...\n"
        "            [--steps N] [--lock-step] [--machine] [--approach S] [--inactive] [--start] [--arm] [--hold] [--alone] [--timeout S] [--poll S]\n"
        "            [--priority P] [--cpu N] [--no-lock] [--awake] [--spin S] [--phase S]\n"
        "            [--overrun count|hold|trip] [--overrun-limit N] [--catch-up N] [--gap S] [--stale N]\n"
        "            [--frozen N] [--supervisor S] [--operator-loss S] [--retreat S] [--hot] [--bare N] [--tick-cost N] [--layout]\n"
        "loop: %s\n",
        what);
    return BL_EXIT_USAGE;
}

typedef struct {
    const char *url, *telemetry, *table;
    double steps, slots, priority, cpu, spin, phase, overrun_limit, catch_up, gap, stale, frozen, supervisor,
        operator_loss, retreat, timeout, poll, bare, tick_cost, approach;
    int alone, awake, machine;
} arguments;

static int64_t ns(double seconds)
{
    return (int64_t)(seconds*1e9 + 0.5);
}

/* Where each number of the telemetry header lies, for the test that compares it with layout.py. */
static int print_layout(void)
{
#define ROW(name) printf("%s \"%s\": %zu", n++ ? "," : "{", #name, offsetof(bl_segment, name))
    int n = 0;
    ROW(version), ROW(slots), ROW(period_ns), ROW(loop_pid), ROW(written), ROW(state), ROW(cause_value);
    ROW(counts), ROW(link), ROW(mail_taken), ROW(wake), ROW(busy), ROW(exchange), ROW(supervisor_ns);
    ROW(mail_given), ROW(requests), ROW(operator_ns), ROW(page_ns), ROW(mail), ROW(parameters_at), ROW(events_written), ROW(run);
    ROW(armed), ROW(step), ROW(emulated), ROW(events), ROW(fault_words), ROW(recording_words);
    ROW(tells_stop), ROW(self_test_words), ROW(session_words), ROW(preflight_words);
    printf(", \"header\": %zu, \"slot\": %zu, \"mail_size\": %zu, \"event_size\": %zu}\n", sizeof(bl_segment),
        sizeof(bl_slot), sizeof(bl_mail), sizeof(bl_event));
    return 0;
}

static int set_parameter(double *values, const char *text)
{
    const char *equals = strrchr(text, '=');
    if (equals == NULL)
        return -1;
    for (long i = 0; i < bl_computer->parameters; ++i)
        if (strlen(bl_computer->parameter_names[i]) == (size_t)(equals - text)
            && strncmp(bl_computer->parameter_names[i], text, (size_t)(equals - text)) == 0) {
            char *end;
            values[i] = strtod(equals + 1, &end);
            return bl_is_finite(values[i]) && *end == '\0' && end != equals + 1 ? 0 : -1;
        }
    return -1;
}

/* Reads the tabulated signals; 0, or -1 with a line on stderr. */
static int read_table(const char *path, bl_options *options)
{
    const long columns = bl_computer->tables;
    if (columns == 0)
        return 0;
    struct stat about;
    const int file = path == NULL ? -1 : open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about) || about.st_size < (off_t)(8*columns)
        || about.st_size%(off_t)(8*columns) != 0) {
        fprintf(stderr, "loop: %s needs a table of %ld signals (--table, rows of doubles); found %s\n",
            bl_computer->name, columns, path == NULL ? "none" : path);
        return -1;
    }
    /* Read, not mapped: a file that another process makes shorter would end the loop. */
    char *memory = malloc((size_t)about.st_size);
    off_t at = 0;
    for (ssize_t more = 1; memory != NULL && at < about.st_size && more > 0; at += more > 0 ? more : 0)
        more = read(file, memory + at, (size_t)(about.st_size - at));
    close(file);
    if (memory == NULL || at < about.st_size) {
        fprintf(stderr, "loop: %s cannot be read: %s\n", path, strerror(errno));
        return -1;
    }
    options->table = (const double *)(const void *)memory;
    options->table_rows = about.st_size/(8*columns);
    return 0;
}

/* Nothing here may overflow what counts in ns, in 64 bits; and a way that takes longer than an hour is no way to safety. */
#define LONGEST_WAY 3600.0
#define LARGEST 2e9

/* Reads the arguments; 0 or an exit code. */
static int read_arguments(int count, char **words, arguments *given, bl_options *options, int *lock, double *values)
{
    const bl_number_option numbers[] = {{"--steps", &given->steps, 0, LARGEST}, {"--slots", &given->slots, 2, LARGEST},
        {"--priority", &given->priority, 0, 99}, {"--cpu", &given->cpu, -1, 1e6},
        {"--spin", &given->spin, 0, LARGEST}, {"--phase", &given->phase, 0, LARGEST},
        {"--overrun-limit", &given->overrun_limit, 0, LARGEST}, {"--catch-up", &given->catch_up, 0, LARGEST},
        {"--gap", &given->gap, 0, LARGEST}, {"--stale", &given->stale, 1, LARGEST},
        {"--frozen", &given->frozen, 0, LARGEST}, {"--supervisor", &given->supervisor, 0, LARGEST},
        {"--operator-loss", &given->operator_loss, 0, LARGEST},
        {"--retreat", &given->retreat, 0, LONGEST_WAY}, {"--timeout", &given->timeout, 0, LARGEST},
        {"--poll", &given->poll, 0, LARGEST}, {"--bare", &given->bare, 0, LARGEST},
        {"--tick-cost", &given->tick_cost, 0, LARGEST}, {"--approach", &given->approach, 0, LONGEST_WAY}};
    const struct {
        const char *word;
        int *flag, value;
    } flags[] = {{"--lock-step", &options->lock_step, 1}, {"--start", &options->start, 1},
        {"--arm", &options->arm, 1},
        {"--hold", &options->hold, 1}, {"--hot", &options->hot, 1}, {"--alone", &given->alone, 1},
        {"--no-lock", lock, 0}, {"--awake", &given->awake, 1}, {"--machine", &given->machine, 1},
        {"--inactive", &options->inactive, 1}};
    for (int i = 1; i < count; ++i) {
        const char *word = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
        int known = 0;
        for (size_t j = 0; j < sizeof flags/sizeof flags[0]; ++j)
            if (strcmp(word, flags[j].word) == 0) {
                *flags[j].flag = flags[j].value;
                known = 1;
            }
        if (known)
            continue;
        if (value == NULL)
            return usage("an option needs a value, or is not known");
        ++i;
        const int outcome = bl_read_number(numbers, sizeof numbers/sizeof numbers[0], word, value, "loop");
        if (outcome == BL_OPTION_NO_NUMBER)
            return usage("an option has a value that is no number");
        if (outcome == BL_OPTION_OUTSIDE)
            return BL_EXIT_USAGE;
        if (outcome == BL_OPTION_READ)
            continue;
        if (strcmp(word, "--link") == 0)
            given->url = value;
        else if (strcmp(word, "--telemetry") == 0)
            given->telemetry = value;
        else if (strcmp(word, "--table") == 0)
            given->table = value;
        else if (strcmp(word, "--overrun") == 0)
            options->overrun = strcmp(value, "trip") == 0 ? BL_OVERRUN_TRIP
                : strcmp(value, "hold") == 0              ? BL_OVERRUN_HOLD
                                                          : BL_OVERRUN_COUNT;
        else if (strcmp(word, "--set") == 0) {
            if (set_parameter(values, value)) {
                fprintf(stderr, "loop: %s has no such parameter, or the value is no finite number: %s\n",
                    bl_computer->name, value);
                return BL_EXIT_USAGE;
            }
        } else
            return usage("an option is not known");
    }
    if (!(given->gap > 0))
        return usage("--gap must be positive, in seconds: a loop that stood still must not go on");
    if (!(given->retreat > 0))
        return usage("--retreat must be positive, in seconds: else the way to safety is a jump");
    if (given->approach < 0) /* a machine is met as gently as it is led to rest */
        given->approach = given->machine ? given->retreat : 0;
    if (!(bl_computer->period >= 1e-9 && bl_computer->period <= 1e6))
        return usage("the period of the test must be from 1e-9 to 1e6 s");
    if (options->overrun == BL_OVERRUN_TRIP && given->overrun_limit < 1)
        given->overrun_limit = 1;
    return given->url == NULL ? usage("--link is needed") : 0;
}

static bl_segment *make_segment(const arguments *given, char *message, size_t size)
{
    bl_segment *segment = bl_segment_create(given->telemetry, (long)given->slots, bl_computer->channels,
        bl_computer->parameters, bl_computer->metadata, message, size);
    if (segment != NULL) {
        segment->period_ns = ns(bl_computer->period);
        segment->supervisor_ns = given->alone ? 0 : bl_now();
    }
    return segment;
}

/* Whether guard and interlock, as they were compiled, do what they are for; else a sentence on stderr. */
static int proves_itself(const bl_options *options, bl_link_config *config, bl_segment *segment, const double *measured)
{
    const int outcome = bl_self_test(bl_computer, options, config, measured, segment->self_test_words,
        sizeof segment->self_test_words);
    if (outcome < 0)
        fprintf(stderr, "loop: it was to end before it had tested itself; nothing was enabled\n");
    else if (outcome == 0)
        fprintf(stderr, "loop: the safety layer fails its self-test: %s; nothing was enabled; build the program anew, from "
                        "unchanged sources and without compiler options of your own\n", bl_self_test_failure());
    return outcome > 0;
}

static int run(const arguments *given, const bl_options *options, int lock)
{
    char message[256] = "", own[64];
    arguments named = *given;
    snprintf(own, sizeof own, "bondloop-%ld-loop", (long)getpid());
    if (named.telemetry == NULL)
        named.telemetry = own;
    bl_segment *segment = make_segment(&named, message, sizeof message);
    if (segment == NULL) {
        fprintf(stderr, "loop: %s\n", message);
        return BL_EXIT_USAGE;
    }
    int code = BL_EXIT_LINK;
    segment->lock_step = (uint64_t)options->lock_step;
    bl_link_config config = {.commands = bl_computer->commands, .measured = bl_computer->measured,
        .command_names = bl_computer->command_names, .measured_names = bl_computer->measured_names,
        .period = bl_computer->period, .signature = bl_computer->signature, .lock_step = options->lock_step,
        .timeout_ns = ns(given->timeout), .poll_ns = ns(given->poll), .safe = bl_computer->safe};
    const bl_link *link = bl_link_find(given->url, &config.address);
    double *measured = calloc((size_t)bl_computer->measured + 1, sizeof(double));
    if (link == NULL) {
        fprintf(stderr, "loop: no driver for the link %s; known are", given->url);
        for (const bl_link *const *other = bl_links; *other != NULL; ++other)
            fprintf(stderr, " %s://", (*other)->scheme);
        fprintf(stderr, "\n");
    } else if (!(link->capabilities & (options->lock_step ? BL_LINK_LOCK_STEP : BL_LINK_REAL_TIME))) {
        fprintf(stderr, "loop: the link %s cannot run %s\n", given->url,
            options->lock_step ? "in lock-step" : "in real time");
    } else if (measured == NULL || link->open(&config, measured) != BL_LINK_FRESH) {
        fprintf(stderr, "loop: %s\n", config.message);
        link->close();
    } else if (!given->machine && !config.emulated && !(link->capabilities & BL_LINK_EMULATED)) {
        fprintf(stderr,
            "loop: the rig at %s does not say that it is a model; a machine needs a test with limits (--machine)\n",
            given->url);
        link->close();
    } else if (config.stopped && !options->inactive) { /* who only looks may look at the button, too */
        fprintf(stderr, "loop: the emergency stop at the rig is pressed (%s); release it, then start again\n",
            given->url);
        link->close();
    } else if (config.fault && !options->inactive) {
        fprintf(stderr, "loop: the rig's controller reports fault %ld: %s; mend it, then start again\n", config.fault,
            config.fault_words);
        link->close();
    } else if (!options->inactive && bl_channels_stand(&config, measured)) {
        fprintf(stderr, "loop: %s; nothing was enabled\n", config.fault_words);
        link->close();
    } else if (!proves_itself(options, &config, segment, measured)) {
        code = BL_EXIT_SELF_TEST;
        link->close();
    } else {
        if (given->machine && !config.tells_stop)
            fprintf(stderr, "loop: %s tells nothing of an emergency stop at the rig; only its own hardware heeds it\n",
                given->url);
        /* Whoever never sleeps must not keep others from the processor. */
        const int paced = !options->lock_step && !options->hot;
        const bl_demands demands = {.priority = paced ? (int)given->priority : 0, .cpu = (int)given->cpu, .lock = lock};
        const bl_granted granted = bl_platform(&demands, "loop");
        segment->emulated = config.emulated || (link->capabilities & BL_LINK_EMULATED) != 0;
        segment->tells_stop = config.tells_stop != 0;
        segment->counts.fifo = (uint64_t)granted.fifo;
        segment->counts.locked = (uint64_t)granted.locked;
        segment->counts.pinned = (uint64_t)granted.pinned;
        if (!given->alone)
            segment->supervisor_ns = bl_now(); /* opening the link may have taken longer than it may be silent */
        bl_shelter(segment, segment->slots_at + segment->slots*segment->slot_bytes, sizeof *segment, &bl_telemetry_lost);
        printf("ready %s\n", named.telemetry);
        fflush(stdout);
        if (given->bare > 0) {
            bl_bare(segment, options, (int64_t)given->bare);
            code = BL_EXIT_DONE;
        } else {
            code = bl_execute(bl_computer, link, &config, segment, options, measured);
        }
        link->close();
    }
    /* A supervisor removes the segment when it has read it; without one nobody else would. */
    if (given->telemetry == NULL || code == BL_EXIT_LINK || code == BL_EXIT_SELF_TEST || segment->cause == BL_CAUSE_SUPERVISOR_LOST)
        bl_segment_remove(named.telemetry);
    if (bl_telemetry_lost)
        fprintf(stderr, "loop: another process has made the telemetry segment %s shorter; nobody sees it any more\n",
            named.telemetry);
    if (code == BL_EXIT_TRIPPED && segment->cause == BL_CAUSE_CONTROLLER_FAULT)
        fprintf(stderr, "loop: the rig's controller reported fault %llu: %s\n",
            (unsigned long long)segment->cause_detail, segment->fault_words);
    if (code == BL_EXIT_TRIPPED)
        fprintf(stderr, "loop: tripped with cause %d at step %lld; %s\n", (int)segment->cause,
            (long long)segment->cause_step, config.halted ? "the rig is left where it stands" : "the safe state was reached");
    free(measured);
    return code;
}

int main(int count, char **words)
{
    arguments given = {.slots = 8192, .cpu = -1, .approach = -1, .gap = 0.02, .stale = 20, .retreat = 1, .timeout = 1};
    bl_options options = {.overrun = BL_OVERRUN_COUNT};
    int lock = 1;
    if (count == 2 && strcmp(words[1], "--layout") == 0)
        return print_layout();
    double *values = calloc((size_t)bl_computer->parameters + 1, sizeof(double));
    if (values == NULL)
        return BL_EXIT_USAGE;
    memcpy(values, bl_computer->parameter_values, sizeof(double)*(size_t)bl_computer->parameters);
    const int wrong = read_arguments(count, words, &given, &options, &lock, values);
    if (wrong)
        return wrong;
    options.parameters = values;
    options.steps = (int64_t)given.steps;
    options.spin_ns = ns(given.spin);
    options.phase_ns = ns(given.phase);
    options.overrun_limit = (int64_t)given.overrun_limit;
    options.catch_up = (int64_t)given.catch_up;
    options.gap_ns = ns(given.gap);
    options.stale = (int64_t)fmin(given.stale, 1e18/(bl_computer->period*1e9)); /* it is multiplied by the period */
    options.frozen = (int64_t)given.frozen;
    options.supervisor_ns = ns(given.supervisor);
    options.operator_ns = ns(given.operator_loss);
    options.retreat_cycles = (int64_t)ceil(given.retreat/bl_computer->period);
    options.approach_cycles = (int64_t)ceil(given.approach/bl_computer->period);
    if (read_table(given.table, &options))
        return BL_EXIT_USAGE;
    if (bl_packet_key()) {
        fprintf(stderr, "loop: BONDLOOP_KEY is no key of 32 hexadecimal digits\n");
        return BL_EXIT_USAGE;
    }
    bl_listen_to_signals();
    if (given.awake)
        bl_stay_awake("loop");
    if (given.tick_cost > 0) {
        printf("%.6g\n", bl_tick_cost(bl_computer, &options, (int64_t)given.tick_cost));
        return BL_EXIT_DONE;
    }
    return run(&given, &options, lock);
}
