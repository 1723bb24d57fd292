/* The executive, the guard, the commands and the segment as a library, on a clock that only the test moves: every branch
 * can be reached, cycle by cycle, and no busy machine changes what comes of it. Compiled with clock_gettime and calloc renamed,
 * and without platform.c, links and channels.c, which stand here: a clock, a link, a tick and outputs that Python plays. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "channels.h"
#include "commands.h"
#include "executive.h"
#include "guard.h"
#include "segment.h"
#include "words.h"

#define MOST 8
#define SLOTS 4096
#define CALLS 100000 /* of the clock and the link: more is a loop that does not end */

volatile int bl_asked_to_end, bl_asked_to_stop;
int64_t virtual_now, virtual_slept; /* the instant; where the loop wanted to sleep to */
int virtual_no_memory;              /* for the piece of this number */
long virtual_age;                   /* of the measurement, as the link tells it */

/* Played by Python. */
int (*virtual_tick)(double *state, const double *parameters, const double *in, double t, double k, double *channels);
int (*virtual_exchange)(const double *commands, double *measured);
void (*virtual_sleep)(int64_t instant, int64_t spin);
int (*virtual_refuse)(const double *commands);
int (*virtual_stand)(const double *measured);

/* Of the tick, its options and its link. */
double virtual_safe[MOST], virtual_initial[MOST], virtual_parameters[MOST], virtual_least[MOST], virtual_most[MOST];
double virtual_rate[MOST], virtual_within[MOST], virtual_bound[MOST], virtual_table[64], virtual_measured[MOST];
int virtual_nonzero[MOST], virtual_cause[MOST], virtual_is_place[MOST];
long virtual_command_at[MOST], virtual_measured_at[MOST], virtual_measured_channel[MOST];
long virtual_place_measured[MOST], virtual_place_channel[MOST];
static bl_interface tick;
static bl_options options;
static bl_link_config wire;
static bl_segment *segment;
static jmp_buf out;
static long calls;

static void count_call(void)
{
    if (++calls > CALLS)
        longjmp(out, 1);
}

int clock_gettime(clockid_t clock, struct timespec *t) /* by another name */
{
    (void)clock;
    t->tv_sec = virtual_now/1000000000;
    t->tv_nsec = virtual_now%1000000000;
    return 0;
}

void bl_sleep_until(int64_t instant_ns, int64_t spin_ns)
{
    count_call();
    virtual_slept = instant_ns;
    if (instant_ns > virtual_now)
        virtual_now = instant_ns;
    virtual_sleep(instant_ns, spin_ns);
}

void *calloc(size_t count, size_t bytes) /* by another name; no memory for the one of this number, from 1 */
{
    if (--virtual_no_memory == 0)
        return NULL;
    void *memory = malloc(count*bytes);
    return memory == NULL ? NULL : memset(memory, 0, count*bytes);
}

static int play(double *state, const double *parameters, const double *in, double t, double k, double *channels)
{
    return virtual_tick(state, parameters, in, t, k, channels);
}

static int exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    count_call();
    const int came = virtual_exchange(commands, measured);
    counts->age = virtual_age;
    return came;
}

int bl_channels_refuse(bl_link_config *config, const double *commands)
{
    return config == &wire ? virtual_refuse(commands) : -1;
}

int bl_channels_stand(bl_link_config *config, const double *measured)
{
    return config == &wire ? virtual_stand(measured) : -1;
}

static const bl_link link_ = {.scheme = "virtual", .exchange = exchange};

/* Everything at nothing, and a segment as new. */
int virtual_new(const char *name)
{
    static bl_segment *fresh;
    if (segment == NULL) {
        char message[256];
        segment = bl_segment_create(name, SLOTS, MOST, MOST, "{}", message, sizeof message);
        if (segment == NULL)
            return -1;
        bl_segment_remove(name);
        fresh = malloc(sizeof *fresh);
        memcpy(fresh, segment, sizeof *fresh);
    }
    memcpy(segment, fresh, sizeof *fresh);
    tick = (bl_interface){.name = "virtual", .tick_once = play, .initial = virtual_initial, .safe = virtual_safe,
        .parameter_values = virtual_parameters, .parameter_least = virtual_least, .parameter_most = virtual_most,
        .parameter_nonzero = virtual_nonzero, .command_at = virtual_command_at, .measured_at = virtual_measured_at,
        .measured_channel = virtual_measured_channel, .channel_bound = virtual_bound, .channel_cause = virtual_cause,
        .place_measured = virtual_place_measured, .place_channel = virtual_place_channel, .place_within = virtual_within,
        .is_place = virtual_is_place, .command_rate = virtual_rate};
    options = (bl_options){.parameters = virtual_parameters, .table = virtual_table};
    wire = (bl_link_config){.address = "virtual"};
    bl_asked_to_end = bl_asked_to_stop = bl_telemetry_lost = 0;
    virtual_age = virtual_no_memory = 0;
    calls = 0;
    return 0;
}

int virtual_execute(void)
{
    return setjmp(out) ? -1 : bl_execute(&tick, &link_, &wire, segment, &options, virtual_measured);
}

#define WORD(part, of, word) {part #word, &of.word, sizeof of.word, _Generic(of.word, double: 1, default: 0)}

typedef struct {
    const char *name;
    void *at;
    size_t bytes;
    int is_double;
} word;

static word find(const char *name)
{
    const word words[] = {
        WORD("", tick, period), WORD("", tick, states), WORD("", tick, inputs), WORD("", tick, parameters),
        WORD("", tick, channels), WORD("", tick, commands), WORD("", tick, measured), WORD("", tick, judged),
        WORD("", tick, tables), WORD("", tick, interlock_cause), WORD("", tick, interlock_trip),
        WORD("", options, steps), WORD("", options, lock_step), WORD("", options, inactive), WORD("", options, start),
        WORD("", options, arm), WORD("", options, spin_ns), WORD("", options, phase_ns), WORD("", options, overrun),
        WORD("", options, overrun_limit), WORD("", options, catch_up), WORD("", options, gap_ns), WORD("", options, stale),
        WORD("", options, frozen), WORD("", options, supervisor_ns), WORD("", options, operator_ns),
        WORD("", options, approach_cycles), WORD("", options, retreat_cycles), WORD("", options, hot),
        WORD("", options, hold), WORD("", options, table_rows),
        WORD("wire.", wire, stopped), WORD("wire.", wire, enable), WORD("wire.", wire, halted), WORD("wire.", wire, fault),
        WORD("segment.", (*segment), period_ns), WORD("segment.", (*segment), state), WORD("segment.", (*segment), cause),
        WORD("segment.", (*segment), cause_cycle), WORD("segment.", (*segment), cause_step),
        WORD("segment.", (*segment), cause_detail), WORD("segment.", (*segment), cause_value),
        WORD("segment.", (*segment), run), WORD("segment.", (*segment), armed), WORD("segment.", (*segment), step),
        WORD("segment.", (*segment), heartbeat_ns), WORD("segment.", (*segment), written),
        WORD("segment.", (*segment), events_written), WORD("segment.", (*segment), supervisor_ns),
        WORD("segment.", (*segment), operator_ns), WORD("segment.", (*segment), mail_taken),
        WORD("counts.", segment->counts, cycles), WORD("counts.", segment->counts, steps),
        WORD("counts.", segment->counts, overruns), WORD("counts.", segment->counts, missed),
        WORD("counts.", segment->counts, held), WORD("counts.", segment->counts, refused),
        WORD("counts.", segment->counts, stale), WORD("counts.", segment->counts, mails),
        WORD("counts.", segment->counts, mails_refused), WORD("counts.", segment->counts, stops),
        WORD("wake.", segment->wake, count), WORD("wake.", segment->wake, sum), WORD("wake.", segment->wake, most),
        WORD("busy.", segment->busy, count), WORD("busy.", segment->busy, sum), WORD("busy.", segment->busy, most),
        WORD("exchange.", segment->exchange, count), WORD("exchange.", segment->exchange, sum),
        WORD("exchange.", segment->exchange, most),
    };
    for (size_t i = 0; i < sizeof words/sizeof words[0]; ++i)
        if (strcmp(words[i].name, name) == 0)
            return words[i];
    return (word){.name = NULL};
}

/* A word by its name; -1 where there is none. */
int virtual_set(const char *name, double value)
{
    const word w = find(name);
    if (w.name == NULL)
        return -1;
    const int64_t whole = (int64_t)value;
    memcpy(w.at, w.is_double ? (const void *)&value : &whole, w.bytes); /* little endian */
    return 0;
}

int virtual_get(const char *name, double *value)
{
    const word w = find(name);
    if (w.name == NULL)
        return -1;
    int64_t whole = 0;
    int32_t half;
    memcpy(w.is_double ? (void *)value : &whole, w.at, w.bytes);
    memcpy(&half, &whole, sizeof half);
    if (!w.is_double)
        *value = w.bytes == sizeof half ? (double)half : (double)whole;
    return 0;
}

double virtual_shown(long parameter)
{
    return ((double *)((char *)segment + segment->parameters_at))[parameter];
}

void virtual_fault(long code, const char *words)
{
    wire.fault = code;
    strncpy(wire.fault_words, words, sizeof wire.fault_words - 1);
}

const char *virtual_fault_words(void)
{
    return segment->fault_words;
}

/* A command, as a console gives it. */
void virtual_mail(uint32_t kind, uint32_t index, double value, uint64_t more, int spoiled)
{
    bl_mail mail = {.number = segment->mail_given + 1, .kind = kind, .index = index, .value = value, .more = more,
        .who = "somebody"};
    uint64_t bits[sizeof mail/8];
    memcpy(bits, &mail, sizeof mail);
    mail.check = BL_MAIL_KEY ^ (uint64_t)spoiled;
    for (size_t i = 0; i < sizeof bits/8 - 1; ++i)
        mail.check ^= bits[i];
    memcpy(&segment->mail[segment->mail_given%BL_MAILS], &mail, sizeof mail);
    segment->mail_given += 1;
}

/* A trip, a retreat or a stop, as anybody requests it. */
void virtual_request(int which, uint64_t cause)
{
    segment->requests[which].cause = cause;
    strcpy(segment->requests[which].who, "anybody");
    segment->requests[which].count += 1;
}

/* How many requests were given and not heard. */
int virtual_unheard(int which)
{
    return (int)(segment->requests[which].count - segment->requests[which].heard);
}

/* Slot i: the words of bl_slot, and the channels. */
void virtual_slot(long i, int64_t *words, double *channels)
{
    const bl_slot *slot = (const bl_slot *)((const char *)segment + segment->slots_at + segment->slot_bytes*(size_t)i);
    const int64_t all[] = {slot->cycle, slot->step, slot->time_ns, slot->wake_ns, slot->busy_ns, slot->exchange_ns,
        slot->age, slot->state, slot->cause, slot->flags, slot->status};
    memcpy(words, all, sizeof all);
    memcpy(channels, slot + 1, sizeof(double)*MOST);
}

void virtual_event(long i, int64_t *words, double *values)
{
    const bl_event *event = &segment->events[i];
    const int64_t all[] = {(int64_t)event->mail, event->cycle, event->step, event->kind, event->index, event->refused,
        event->run, event->time_ns};
    memcpy(words, all, sizeof all);
    values[0] = event->before;
    values[1] = event->value;
}

#ifdef VIRTUAL_COVERAGE
void __gcov_dump(void);
void virtual_covered(void)
{
    __gcov_dump();
}
#endif
