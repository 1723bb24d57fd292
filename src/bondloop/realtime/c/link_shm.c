/* Shared memory: a segment that the rig makes and one loop at a time may claim, both ends.
 *
 * Each direction is one message behind a counter that is odd while the message is being written; a reader
 * copies and looks at the counter again. Every message has a sum over the number of its session and all its
 * words: what a loop writes that was frozen and has a successor by now is not obeyed, whole or in part. Counter,
 * sum and the first values share a cache line: what is small crosses from core to core at once. The loop claims the rig by exchanging `owner` for its session, free or
 * left behind by a loop whose heartbeat has stopped. The rig holds an flock: its segment is free when it is dead.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform.h"
#include "port.h"
#include "shelter.h"
#include "words.h"

#define MAGIC "BLSHM003"
#define VALUES 252
#define PRESSED ((uint64_t)1 << 63) /* in the `echo` of a measurement: the rig's emergency stop is pressed */
#define SPINS 1000   /* looks before others may use the processor */
#define TRIES 1000   /* looks at a message that is being written */

typedef struct {
    uint64_t turn; /* odd while being written */
    uint64_t sequence;
    uint64_t echo; /* of a command: the enable word of link.h; of a measurement: the newest command, and PRESSED */
    uint64_t sum; /* of session, sequence, echo and values */
    double values[VALUES];
} message_slot;

typedef struct {
    char magic[8];
    uint64_t signature, commands, measured;
    double rig_period;
    int64_t timeout_ns;
    uint64_t spare0[2];
    uint64_t owner;         /* session of the loop that has the rig; 0: free */
    int64_t owner_pid, owner_ns; /* and its heartbeat */
    uint64_t lock_step;
    double period;
    uint64_t goodbye; /* session that is over */
    uint64_t spare1[2];
    uint64_t accepted, refused; /* sessions that the rig has answered */
    int64_t rig_pid;
    uint64_t spare2[5];
    message_slot command, measurement;
    uint64_t current; /* session that the rig follows; 0: none. In a line of its own, which is hardly ever written */
    uint64_t spare3[7];
    double safe[VALUES]; /* where the rig's own watchdog goes; written by the loop that claims it */
} shared_rig;

static shared_rig *shared = NULL;
static int file = -1;
static char path[200];
static volatile int lost; /* another process has taken the memory away: nobody is at the other end any more */

/* Sum over the words of a message, in which their order counts. */
static uint64_t sum_of(uint64_t number, uint64_t sequence, uint64_t echo, const double *values, long count)
{
    uint64_t sum = number*0x9e3779b97f4a7c15ULL ^ sequence ^ (echo << 32 | echo >> 32);
    for (long i = 0; i < count; ++i) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        sum = (sum << 7 | sum >> 57) ^ bits;
    }
    return sum;
}

/* Nothing else between the first store and the last: a reader who looks meanwhile takes the line away. */
static void write_message(message_slot *m, uint64_t number, uint64_t sequence, uint64_t echo, const double *values,
    long count)
{
    const uint64_t sum = sum_of(number, sequence, echo, values, count);
    const uint64_t head[3] = {sequence, echo, sum};
    const uint64_t turn = (__atomic_load_n(&m->turn, __ATOMIC_RELAXED) + 1) & ~(uint64_t)1; /* odd if the last writer was killed while it wrote */
    __atomic_store_n(&m->turn, turn + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    bl_words_put(&m->sequence, head, 3);
    bl_words_put(m->values, values, (size_t)count);
    __atomic_store_n(&m->turn, turn + 2, __ATOMIC_RELEASE);
}

/* Copies the message if it is not the one of `turn`, and of this session; 1 if it was copied. What was torn by its
   writer is left. */
static int read_message(message_slot *m, uint64_t number, uint64_t *turn, uint64_t *sequence, uint64_t *echo,
    double *values, long count)
{
    static double copy[VALUES];
    for (int i = 0; i < TRIES; ++i) {
        const uint64_t before = __atomic_load_n(&m->turn, __ATOMIC_ACQUIRE);
        if (before == *turn)
            return 0;
        if (!(before & 1)) {
            uint64_t head[3]; /* sequence, echo, sum */
            bl_words_get(head, &m->sequence, 3);
            bl_words_get(copy, m->values, (size_t)count);
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            if (__atomic_load_n(&m->turn, __ATOMIC_RELAXED) == before) {
                if (head[2] != sum_of(number, head[0], head[1], copy, count))
                    return 0; /* of another session, or of two writers; its successor's next message has another turn */
                memcpy(values, copy, sizeof(double)*(size_t)count);
                *sequence = head[0];
                *echo = head[1];
                *turn = before;
                return 1;
            }
        }
        bl_relax();
    }
    return 0;
}

/* Whether a file is one that only this user can have made and can change: a regular one, of the user's, closed to
   all others, of the right size. Else `why` says what is wrong. */
static int is_ours(int candidate, const char **why)
{
    struct stat about;
    *why = "is no regular file";
    if (fstat(candidate, &about) || !S_ISREG(about.st_mode))
        return 0;
    *why = "belongs to another user";
    if (about.st_uid != geteuid())
        return 0;
    *why = "is open to other users";
    if (about.st_mode & (S_IRWXG | S_IRWXO))
        return 0;
    *why = "is of another version, or no rig's";
    return about.st_size == (off_t)sizeof *shared;
}

static int map_it(void)
{
    void *memory = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    shared = memory == MAP_FAILED ? NULL : memory;
    return shared == NULL ? -1 : 0;
}

static int set_path(const char *address)
{
    if (address[0] == '\0' || strchr(address, '/') != NULL || strlen(address) > 100)
        return -1;
    snprintf(path, sizeof path, "/bondloop-link-%s", address);
    return 0;
}

/* ------------------------------------------------------------------ the loop's end */

static bl_link_config *loop;
static uint64_t session, sent, answered, measured_turn;
static int64_t beat_at; /* when the heartbeat was last written */

static int fail(const char *text)
{
    snprintf(loop->message, sizeof loop->message, "%s (shm://%s)", text, loop->address);
    return BL_LINK_FAILED;
}

static int claim(void)
{
    uint64_t owner = __atomic_load_n(&shared->owner, __ATOMIC_ACQUIRE);
    if (owner != 0 && bl_now() - __atomic_load_n(&shared->owner_ns, __ATOMIC_RELAXED) < shared->timeout_ns)
        return -1;
    if (!__atomic_compare_exchange_n(&shared->owner, &owner, UINT64_MAX, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return -1; /* another loop was faster */
    __atomic_store_n(&shared->owner_ns, bl_now(), __ATOMIC_RELAXED);
    shared->owner_pid = getpid();
    shared->lock_step = (uint64_t)loop->lock_step;
    shared->period = loop->period;
    memcpy(shared->safe, loop->safe, sizeof(double)*(size_t)loop->commands);
    __atomic_store_n(&shared->owner, session, __ATOMIC_RELEASE); /* from here on the rig sees it */
    return 0;
}

/* Whether the rig is free, or the loop that has it has said goodbye, which the rig has not read yet. */
static int will_be_free(void)
{
    const uint64_t owner = __atomic_load_n(&shared->owner, __ATOMIC_ACQUIRE);
    return owner == 0 || __atomic_load_n(&shared->goodbye, __ATOMIC_ACQUIRE) == owner;
}

/* Takes the emergency stop from the newest measurement. */
static void know_stop(void)
{
    loop->stopped = (answered & PRESSED) != 0;
    answered &= ~PRESSED;
}

static int shm_link_open(bl_link_config *config, double *measured)
{
    loop = config;
    if (set_path(config->address))
        return fail("expected shm://NAME with a name without slashes");
    const char *why = NULL;
    const int64_t end = bl_now() + config->timeout_ns;
    for (;;) { /* the rig may be about to start */
        /* Never waits, whatever lies under the name: a pipe, say. */
        file = shm_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0600);
        why = NULL;
        if (file >= 0 && is_ours(file, &why) && map_it() == 0) {
            why = NULL;
            const int is_made = memcmp(shared->magic, MAGIC, 8) == 0;
            __atomic_thread_fence(__ATOMIC_ACQUIRE); /* what was written before it is seen after it */
            if (!is_made && memcmp(shared->magic, MAGIC, 5) == 0)
                why = "is a rig's of another version of bondloop";
            else if (is_made && flock(file, LOCK_EX | LOCK_NB) != 0)
                break;
            munmap(shared, sizeof *shared); /* nobody holds it: a dead rig's */
        }
        if (file >= 0)
            close(file);
        file = -1;
        shared = NULL;
        if (bl_now() > end || bl_asked_to_end) {
            char text[200];
            snprintf(text, sizeof text, "%s%s; start one with 'bondloop rig'",
                why == NULL ? "no rig answers" : "no rig answers, and what lies under its name in /dev/shm ",
                why == NULL ? "" : why);
            return fail(text);
        }
        const struct timespec t = {.tv_sec = 0, .tv_nsec = 1000000};
        nanosleep(&t, NULL);
    }
    if (shared->signature != config->signature || shared->commands != (uint64_t)config->commands
        || shared->measured != (uint64_t)config->measured)
        return fail("the rig has other signals than the loop; build both from the same test");
    session = (uint64_t)bl_now() << 16 ^ (uint64_t)getpid();
    sent = answered = 0;
    int is_taken = claim();
    while (is_taken && will_be_free() && bl_now() < end && !bl_asked_to_end) {
        const struct timespec t = {.tv_sec = 0, .tv_nsec = 1000000};
        nanosleep(&t, NULL);
        is_taken = claim();
    }
    if (is_taken && will_be_free())
        return fail("the rig is there but does not answer");
    if (is_taken) {
        snprintf(config->message, sizeof config->message,
            "the rig at shm://%s is in use by another loop, process %ld; end that one, or wait until it has "
            "timed out",
            config->address, (long)shared->owner_pid);
        return BL_LINK_BUSY;
    }
    while (__atomic_load_n(&shared->accepted, __ATOMIC_ACQUIRE) != session) {
        if (__atomic_load_n(&shared->refused, __ATOMIC_ACQUIRE) == session)
            return fail("the loop's period is no whole multiple of the rig's");
        if (bl_now() > end || bl_asked_to_end)
            return fail("the rig is there but does not answer");
        sched_yield();
    }
    uint64_t sequence;
    config->tells_stop = 1;
    measured_turn = 1; /* an odd one: whatever lies there is taken */
    if (!read_message(&shared->measurement, session, &measured_turn, &sequence, &answered, measured, config->measured))
        return fail("the rig is there but shows nothing");
    know_stop();
    bl_shelter(shared, sizeof *shared, 0, &lost); /* what is lost is of no session: the next exchange says so */
    config->emulated = 1; /* no machine speaks this: at the other end is a rig of bondloop's */
    return BL_LINK_FRESH;
}

static int shm_link_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    if (__atomic_load_n(&shared->current, __ATOMIC_ACQUIRE) != session)
        return BL_LINK_LOST; /* the rig has let go of us, or another loop has it: write nothing */
    if (commands != NULL) {
        sent += 1;
        write_message(&shared->command, session, sent, loop->enable, commands, loop->commands);
        counts->sent += 1;
    }
    const int64_t now = bl_now(); /* after the message, which is under way meanwhile */
    /* A command is a sign of life itself. What other loops see of it is written now and then: the rig reads that line
       at every look, and each time it would have to come from this core. */
    const int is_alone = commands == NULL && measured == NULL;
    if (is_alone || (commands != NULL && now - beat_at > shared->timeout_ns/64)) {
        __atomic_store_n(&shared->owner_ns, now, __ATOMIC_RELAXED);
        beat_at = now;
    }
    if (measured == NULL)
        return BL_LINK_OLD;
    uint64_t sequence;
    int fresh = 0;
    const int64_t patience = loop->lock_step ? loop->timeout_ns : loop->poll_ns;
    const int64_t end = patience > 0 && sent > 0 ? now + patience : 0;
    for (long spins = 0;; ++spins) {
        if (read_message(
                &shared->measurement, session, &measured_turn, &sequence, &answered, measured, loop->measured)) {
            fresh = 1;
            know_stop();
        }
        if (fresh && (!loop->lock_step || answered == sent))
            break;
        if (end == 0 || (spins%256 == 255 && bl_now() > end))
            break;
        if (spins > SPINS)
            sched_yield();
        else
            bl_relax();
    }
    counts->received += (uint64_t)fresh;
    counts->age = (int64_t)(sent - answered);
    counts->late += counts->age > 0;
    if (loop->lock_step && answered != sent)
        return BL_LINK_LOST;
    return fresh ? BL_LINK_FRESH : BL_LINK_OLD;
}

static void shm_link_close(void)
{
    if (shared != NULL) {
        if (__atomic_load_n(&shared->owner, __ATOMIC_ACQUIRE) == session)
            __atomic_store_n(&shared->goodbye, session, __ATOMIC_RELEASE);
        munmap(shared, sizeof *shared);
        close(file);
    }
    shared = NULL;
}

const bl_link bl_link_shm = {"shm", BL_LINK_REAL_TIME | BL_LINK_LOCK_STEP | BL_LINK_EXCLUSIVE, shm_link_open,
    shm_link_exchange, shm_link_close};

/* ------------------------------------------------------------------- the rig's end */

static bl_port_config *rig;
static bl_link_counts rig_counts;
static uint64_t followed, published, command_turn, last_command;
static int64_t beat; /* newest heartbeat seen of the loop */
static int in_session;

static int are_finite(const double *values, long count)
{
    for (long i = 0; i < count; ++i)
        if (!bl_is_finite(values[i]))
            return 0;
    return 1;
}

static int port_open(bl_port_config *config)
{
    rig = config;
    if (set_path(config->address) || config->commands > VALUES || config->measured > VALUES) {
        snprintf(config->message, sizeof config->message, "expected shm://NAME without slashes, and at most %d "
            "values each way; found shm://%s", VALUES, config->address);
        return -1;
    }
    const int old = shm_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0600);
    if (old >= 0) {
        const char *why;
        struct stat about;
        if (!is_ours(old, &why) && (fstat(old, &about) || !S_ISREG(about.st_mode) || about.st_uid != geteuid())) {
            snprintf(config->message, sizeof config->message,
                "shm://%s cannot be made: what lies under its name in /dev/shm %s; remove it, or choose another name",
                config->address, why);
            close(old);
            return -1;
        }
        if (flock(old, LOCK_EX | LOCK_NB)) {
            snprintf(config->message, sizeof config->message,
                "another rig plays at shm://%s; end it, or choose another name", config->address);
            close(old);
            return -1;
        }
        shm_unlink(path); /* a dead rig's */
        close(old);
    }
    file = shm_open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) || posix_fallocate(file, 0, (off_t)sizeof *shared) || map_it()) {
        snprintf(config->message, sizeof config->message, "shm://%s cannot be made: %s", config->address,
            strerror(errno));
        return -1;
    }
    shared->signature = config->signature;
    shared->commands = (uint64_t)config->commands;
    shared->measured = (uint64_t)config->measured;
    shared->timeout_ns = config->timeout_ns;
    shared->rig_pid = getpid();
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(shared->magic, MAGIC, 8);
    bl_shelter(shared, sizeof *shared, 0, &lost);
    followed = 0;
    snprintf(config->message, sizeof config->message, "shm://%s", config->address);
    return 0;
}

static int port_receive(double *commands, int64_t wait_ns)
{
    const uint64_t owner = __atomic_load_n(&shared->owner, __ATOMIC_ACQUIRE);
    if (lost && !in_session && !bl_asked_to_end) { /* in a session the loop is silent from now on, which brings it to rest */
        fprintf(stderr, "rig: another process has made the shared memory of shm://%s shorter; nobody finds it any more\n",
            rig->address);
        bl_asked_to_end = 1;
    }
    if (owner != followed && owner != UINT64_MAX && owner != 0) {
        if (in_session) { /* another loop has taken over from one that went silent */
            in_session = 0;
            followed = 0;
            return BL_PORT_CLOSED;
        }
        followed = owner;
        memcpy(rig->safe, shared->safe, sizeof(double)*(size_t)rig->commands);
        if (!rig->accepts(shared->period) || !are_finite(rig->safe, rig->commands)) {
            __atomic_store_n(&shared->refused, owner, __ATOMIC_RELEASE);
            uint64_t expected = owner;
            __atomic_compare_exchange_n(&shared->owner, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
            return BL_PORT_NOTHING;
        }
        command_turn = __atomic_load_n(&shared->command.turn, __ATOMIC_RELAXED); /* a former loop's */
        last_command = 0;
        rig->withdrawn = 1;
        in_session = 1;
        return BL_PORT_OPENED;
    }
    if (owner == followed && owner != 0) {
        if (__atomic_load_n(&shared->goodbye, __ATOMIC_ACQUIRE) == owner) {
            uint64_t expected = owner;
            __atomic_compare_exchange_n(&shared->owner, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
            in_session = 0;
            return BL_PORT_CLOSED;
        }
        uint64_t echo;
        static double heard[VALUES];
        if (commands != NULL
            && read_message(&shared->command, followed, &command_turn, &last_command, &echo, heard, rig->commands)) {
            if (!are_finite(heard, rig->commands)) {
                rig_counts.corrupted += 1;
                return BL_PORT_NOTHING;
            }
            memcpy(commands, heard, sizeof(double)*(size_t)rig->commands);
            rig->withdrawn = !(echo & BL_ENABLE);
            rig_counts.received += 1;
            rig_counts.lost = last_command - rig_counts.received; /* replaced before they were seen */
            return BL_PORT_COMMAND;
        }
        const int64_t now = __atomic_load_n(&shared->owner_ns, __ATOMIC_RELAXED);
        if (now != beat) {
            beat = now;
            return BL_PORT_ALIVE;
        }
    }
    if (wait_ns > 0) {
        const struct timespec t = {.tv_sec = 0, .tv_nsec = wait_ns < 1000000 ? wait_ns : 1000000};
        nanosleep(&t, NULL);
    }
    return BL_PORT_NOTHING;
}

static void port_accept(const double *measured)
{
    write_message(&shared->measurement, followed, ++published, rig->pressed ? PRESSED : 0, measured, rig->measured);
    __atomic_store_n(&shared->current, followed, __ATOMIC_RELEASE);
    __atomic_store_n(&shared->accepted, followed, __ATOMIC_RELEASE);
}

static void port_publish(const double *measured)
{
    write_message(&shared->measurement, followed, ++published, last_command | (rig->pressed ? PRESSED : 0), measured,
        rig->measured);
    rig_counts.sent += 1;
}

static int port_lock_step(void)
{
    return shared->lock_step != 0;
}

static void port_release(void)
{
    uint64_t expected = followed;
    in_session = 0;
    __atomic_store_n(&shared->current, 0, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(&shared->owner, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void port_close(void)
{
    if (shared == NULL)
        return;
    shm_unlink(path);
    close(file);
    shared = NULL;
}

const bl_port bl_port_shm = {"shm", port_open, port_receive, port_accept, port_publish, port_lock_step,
    port_release, port_close, &rig_counts};
