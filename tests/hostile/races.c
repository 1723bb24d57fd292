/* Writers and readers of what loop, rig and supervisor share, at full speed against each other.
 *
 * races ring|link|mailbox|executive threads|processes COUNT SEED: the reader takes part in main, the writer is a thread
 * (for ThreadSanitizer, which sees one process) or a process. races publish NAME COUNT SEED: writes for a reader
 * elsewhere. Every word of a message is a function of its number, so that one that is torn or stale
 * shows. Prints how many messages were accepted and lost; a message that must not be accepted ends with 1.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define bl_link_shm second_link /* this file has the functions behind them, which are static there */
#define bl_port_shm second_port
#include "link_shm.inc"
#undef bl_link_shm
#undef bl_port_shm

#include "executive.h"
#include "segment.h"

static uint64_t count, seed, drawn;
static long slots, channels, values;
static bl_segment *segment;
static struct {
    message_slot message;
    uint64_t sent;   /* number of the last message that is complete */
    uint64_t looked; /* how often the reader has looked */
} *box;

static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30)*0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27)*0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

static uint64_t draw(uint64_t below)
{
    return mixed(drawn++)%below;
}

static double value_of(uint64_t number, long i)
{
    return (double)(mixed(number*512 + (uint64_t)i) >> 12); /* a whole number: equal means equal to the last bit */
}

static int wrong(const char *what, uint64_t number)
{
    printf("%s: message %llu\n", what, (unsigned long long)number);
    return 1;
}

/* Now and then waits until the reader has looked: however many processors there are, they take turns. Relaxed, so that
   it puts nothing in order. */
static void meet(uint64_t n)
{
    if (n%1024 != 0 || box == NULL)
        return;
    const uint64_t before = __atomic_load_n(&box->looked, __ATOMIC_RELAXED);
    while (__atomic_load_n(&box->looked, __ATOMIC_RELAXED) == before)
        sched_yield();
}

static void look(void)
{
    __atomic_fetch_add(&box->looked, 1, __ATOMIC_RELAXED);
}

/* ------------------------------------------------------------------ ring */

static void write_ring(void)
{
    double row[256];
    for (uint64_t n = 0; n < count; ++n) {
        meet(n);
        for (long i = 0; i < channels; ++i)
            row[i] = value_of(n, i);
        const bl_slot now = {.sequence = 0, .cycle = (int64_t)n, .step = (int64_t)mixed(n)};
        bl_slot *slot = bl_segment_begin(segment);
        bl_words_put(slot, &now, sizeof now/8);
        bl_words_put(slot + 1, row, (size_t)channels);
        bl_segment_publish(segment, slot);
    }
}

/* As Ring.read of ring.py: copies, and looks afterwards what may have been overwritten meanwhile. */
static int read_ring(uint64_t *accepted, uint64_t *lost)
{
    const uint64_t size = (uint64_t)slots;
    double row[8 + 256];
    for (uint64_t cursor = 0; cursor < count;) {
        look();
        const uint64_t written = __atomic_load_n(&segment->written, __ATOMIC_ACQUIRE);
        const uint64_t oldest = written + 1 > size ? written + 1 - size : 0;
        if (cursor < oldest) {
            *lost += oldest - cursor;
            cursor = oldest;
        }
        if (cursor >= written) {
            bl_relax();
            continue;
        }
        bl_words_get(row, (char *)segment + segment->slots_at + cursor%size*segment->slot_bytes, 8 + (size_t)channels);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        const uint64_t after = __atomic_load_n(&segment->written, __ATOMIC_RELAXED);
        if (after + 1 > size + cursor) { /* it may have been touched */
            *lost += 1;
        } else {
            bl_slot slot;
            memcpy(&slot, row, sizeof slot);
            if (slot.sequence != cursor + 1 || slot.cycle != (int64_t)cursor || slot.step != (int64_t)mixed(cursor))
                return wrong("a head is torn or stale", cursor);
            for (long i = 0; i < channels; ++i)
                if (row[8 + i] != value_of(cursor, i))
                    return wrong("a sample is torn or stale", cursor);
            *accepted += 1;
        }
        cursor += 1;
    }
    return 0;
}

/* ------------------------------------------------------------------ link */

static void write_link(void)
{
    double row[VALUES];
    for (uint64_t n = 1; n <= count; ++n) {
        meet(n);
        for (long i = 0; i < values; ++i)
            row[i] = value_of(n, i);
        write_message(&box->message, seed, n, mixed(n), row, values);
        __atomic_store_n(&box->sent, n, __ATOMIC_RELEASE);
    }
}

static int read_link(uint64_t *accepted, uint64_t *lost)
{
    uint64_t turn = 0, sequence = 0, last = 0, echo;
    double row[VALUES];
    while (last < count) {
        look();
        const uint64_t sent = __atomic_load_n(&box->sent, __ATOMIC_ACQUIRE);
        if (!read_message(&box->message, seed, &turn, &sequence, &echo, row, values))
            continue;
        if (sequence < sent || sequence <= last)
            return wrong("a message is stale", sequence);
        if (echo != mixed(sequence))
            return wrong("a head is torn", sequence);
        for (long i = 0; i < values; ++i)
            if (row[i] != value_of(sequence, i))
                return wrong("a message is torn", sequence);
        *lost += sequence - last - 1;
        *accepted += 1;
        last = sequence;
    }
    return 0;
}

/* --------------------------------------------------------------- mailbox */

static int is_spoilt(uint64_t number)
{
    return mixed(number ^ seed << 32)%50 == 0;
}

/* As Mailbox._put of mailbox.py: with room, entry first, then the number; now and then one that makes no sense. */
static void send_mail(uint64_t number, uint32_t kind, uint32_t index, double value)
{
    while (number - __atomic_load_n(&segment->mail_taken, __ATOMIC_ACQUIRE) > BL_MAILS)
        bl_relax();
    bl_mail mail = {.number = number, .kind = kind, .index = index, .value = value};
    for (size_t i = 0; i < sizeof mail.who; ++i)
        mail.who[i] = (char)mixed(number + i);
    uint64_t parts[sizeof mail/8];
    memcpy(parts, &mail, sizeof mail);
    mail.check = BL_MAIL_KEY ^ (uint64_t)is_spoilt(number);
    for (size_t i = 0; i < sizeof parts/8 - 1; ++i)
        mail.check ^= parts[i];
    bl_words_put(&segment->mail[(number - 1)%BL_MAILS], &mail, sizeof mail/8);
    __atomic_store_n(&segment->mail_given, number, __ATOMIC_RELEASE);
}

static void write_mailbox(void)
{
    for (uint64_t n = 1; n <= count; ++n)
        send_mail(n, (uint32_t)mixed(n), (uint32_t)(mixed(n) >> 32), value_of(n, 0));
}

static int read_mailbox(uint64_t *accepted, uint64_t *lost)
{
    int looks = 0;
    for (uint64_t number = 1; number <= count;) {
        bl_mail mail;
        const int took = bl_mail_take(segment, &mail, &looks);
        if (took == 0)
            continue;
        if ((took < 0) != is_spoilt(number))
            return wrong("a command is left out, or one that makes no sense taken", number);
        for (size_t i = 0; took > 0 && i < sizeof mail.who; ++i)
            if (mail.who[i] != (char)mixed(number + i))
                return wrong("a name is torn", number);
        if (took > 0 && (mail.number != number || mail.kind != (uint32_t)mixed(number)
                || mail.index != (uint32_t)(mixed(number) >> 32) || mail.value != value_of(number, 0)))
            return wrong("a command is torn or stale", number);
        *(took > 0 ? accepted : lost) += 1;
        number += 1;
    }
    return 0;
}

/* ------------------------------------------------- the executive itself */

static int paced_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    meet(segment->written);
    return bl_link_loopback.exchange(commands, measured, counts);
}

/* The loop as it is, with its rig in the same process: `count` ticks. */
static void execute(void)
{
    static double measured[256], table[1] = {1.0};
    const bl_link link = {"paced", BL_LINK_LOCK_STEP, bl_link_loopback.open, paced_exchange, bl_link_loopback.close};
    bl_link_config config = {.address = "", .commands = bl_computer->commands, .measured = bl_computer->measured,
        .period = bl_computer->period, .safe = bl_computer->safe, .lock_step = 1};
    const bl_options options = {.steps = (int64_t)count, .lock_step = 1, .start = 1, .gap_ns = 1000000000,
        .retreat_cycles = 10, .parameters = bl_computer->parameter_values, .table = table, .table_rows = 1};
    if (link.open(&config, measured) == BL_LINK_FRESH)
        bl_execute(bl_computer, &link, &config, segment, &options, measured);
}

/* Reads the newest event of the log; 0 where it is whole. */
static int look_at_log(void)
{
    bl_event event;
    const uint64_t logged = __atomic_load_n(&segment->events_written, __ATOMIC_ACQUIRE);
    if (logged == 0)
        return 0;
    bl_words_get(&event, &segment->events[(logged - 1)%BL_EVENTS], sizeof event/8);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&segment->events_written, __ATOMIC_RELAXED) - logged >= BL_EVENTS - 1)
        return 0;
    const int known = event.index < (uint32_t)bl_computer->parameters;
    return event.sequence != logged
        || (event.kind == BL_MAIL_SET && ((event.refused == BL_OBEYED) != known || event.value < 300.0));
}

/* Reads its samples and its state and commands it, as recorder and supervisor do. */
static int watch(uint64_t *accepted, uint64_t *lost)
{
    const uint64_t size = segment->slots;
    uint64_t cursor = 0, number = 0;
    bl_slot slot;
    for (int over = 0; !over || cursor < __atomic_load_n(&segment->written, __ATOMIC_ACQUIRE);) {
        over = __atomic_load_n(&segment->state, __ATOMIC_ACQUIRE) == BL_FINALIZED;
        if (__atomic_load_n(&segment->cause, __ATOMIC_RELAXED) != BL_CAUSE_NONE)
            return wrong("the loop has tripped", cursor);
        look();
        if (look_at_log())
            return wrong("an event is torn or stale", segment->events_written);
        /* Now and then: a command puts all that was read before it in order, and hides a race from the sanitizer. */
        if (!over && draw(512) == 0 && number - __atomic_load_n(&segment->mail_taken, __ATOMIC_ACQUIRE) < BL_MAILS) {
            number += 1; /* a parameter that there is, or is not */
            send_mail(number, BL_MAIL_SET, (uint32_t)draw(2), 300.0 + (double)draw(100));
        }
        __atomic_store_n(&segment->supervisor_ns, bl_now(), __ATOMIC_RELAXED);
        const uint64_t written = __atomic_load_n(&segment->written, __ATOMIC_ACQUIRE);
        const uint64_t oldest = written + 1 > size ? written + 1 - size : 0;
        *lost += cursor < oldest ? oldest - cursor : 0;
        cursor = cursor < oldest ? oldest : cursor;
        if (cursor >= written)
            continue;
        bl_words_get(&slot, (char *)segment + segment->slots_at + cursor%size*segment->slot_bytes, sizeof slot/8);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        const uint64_t after = __atomic_load_n(&segment->written, __ATOMIC_RELAXED);
        if (after + 1 > size + cursor)
            *lost += 1;
        else if (slot.sequence != cursor + 1 || slot.cycle != (int64_t)cursor || slot.step > slot.cycle)
            return wrong("a sample is torn or stale", cursor);
        else
            *accepted += 1;
        cursor += 1;
    }
    return 0;
}

/* ------------------------------------------------------------------ main */

static void (*writer)(void);

static void *run_writer(void *nothing)
{
    writer();
    return nothing;
}

static int begin_segment(const char *name, const char *metadata)
{
    char message[256];
    segment = bl_segment_create(name, slots, channels, bl_computer->parameters, metadata, message, sizeof message);
    return segment == NULL ? (fprintf(stderr, "%s\n", message), 2) : 0;
}

static int publish(const char *name)
{
    char metadata[256*40];
    int at = snprintf(metadata, sizeof metadata, "{\"parameters\": [], \"channels\": [");
    for (long i = 0; i < channels; ++i)
        at += snprintf(metadata + at, sizeof metadata - (size_t)at, "%s{\"name\": \"c%ld\", \"unit\": \"\"}", i ? ", " : "", i);
    snprintf(metadata + at, sizeof metadata - (size_t)at, "]}");
    if (begin_segment(name, metadata))
        return 2;
    printf("ready %ld %ld\n", slots, channels);
    fflush(stdout);
    if (getchar() == EOF)
        return 2;
    write_ring();
    return 0;
}

int main(int words_count, char **words)
{
    const struct {
        const char *word;
        void (*write)(void);
        int (*read)(uint64_t *accepted, uint64_t *lost);
    } kinds[] = {{"ring", write_ring, read_ring}, {"link", write_link, read_link},
        {"mailbox", write_mailbox, read_mailbox}, {"executive", execute, watch}};
    if (words_count != 5)
        return 2;
    count = strtoull(words[3], NULL, 10);
    drawn = 1000*(seed = strtoull(words[4], NULL, 10));
    slots = (long)(2 + draw(30));
    channels = (long)(1 + draw(100));
    values = (long)(1 + draw(draw(2) ? VALUES : 8));
    if (strcmp(words[1], "publish") == 0)
        return publish(words[2]);
    char name[64];
    snprintf(name, sizeof name, "bondloop-%ld-races", (long)getpid());
    if (strcmp(words[1], "executive") == 0)
        channels = bl_computer->channels;
    if (begin_segment(name, "{}"))
        return 2;
    bl_segment_remove(name);
    segment->period_ns = 1000000;
    box = mmap(NULL, sizeof *box, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < sizeof kinds/sizeof kinds[0]; ++i) {
        if (strcmp(words[1], kinds[i].word) != 0)
            continue;
        uint64_t accepted = 0, lost = 0;
        int status = 0;
        writer = kinds[i].write;
        pthread_t thread;
        pid_t child = 0;
        if (strcmp(words[2], "threads") == 0) {
            if (pthread_create(&thread, NULL, run_writer, NULL))
                return 2;
        } else if ((child = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            writer();
            _exit(0);
        }
        const int code = kinds[i].read(&accepted, &lost);
        if (code) { /* the writer may wait for ever */
            if (child > 0)
                kill(child, SIGKILL);
            fflush(stdout);
            _exit(code);
        }
        if (child > 0)
            waitpid(child, &status, 0);
        else
            pthread_join(thread, NULL);
        printf("%llu accepted, %llu lost\n", (unsigned long long)accepted, (unsigned long long)lost);
        return status != 0;
    }
    return 2;
}
