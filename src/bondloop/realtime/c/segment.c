#define _GNU_SOURCE
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform.h"
#include "words.h"

#define LINE 64

static size_t rounded(size_t bytes)
{
    return (bytes + LINE - 1)/LINE*LINE;
}

bl_segment *bl_segment_create(const char *name, long slots, long channels, long parameters, const char *metadata,
    char *message, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "/%s", name);
    const size_t text = strlen(metadata), metadata_at = rounded(sizeof(bl_segment));
    const size_t parameters_at = rounded(metadata_at + text + 1);
    const size_t slots_at = rounded(parameters_at + 8*(size_t)parameters);
    const size_t slot_bytes = rounded(sizeof(bl_slot) + 8*(size_t)channels);
    const size_t bytes = slots_at + slot_bytes*(size_t)slots;
    const int file = shm_open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0) {
        snprintf(message, size, "the telemetry segment %s cannot be created: %s", name, strerror(errno));
        return NULL;
    }
    /* Reserved now: running out of memory in the middle of a test would be a fault in the loop. The file stays
       open, and so the lock is held, until the process ends. */
    const int error = flock(file, LOCK_SH | LOCK_NB) ? errno : posix_fallocate(file, 0, (off_t)bytes);
    void *memory = error ? MAP_FAILED
                         : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (memory == MAP_FAILED) {
        snprintf(message, size, "no %zu bytes of shared memory for telemetry: %s; use fewer slots", bytes,
            strerror(error ? error : errno));
        shm_unlink(path);
        close(file);
        return NULL;
    }
    bl_segment *segment = memory;
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    segment->realtime_offset_ns = (int64_t)real.tv_sec*1000000000 + real.tv_nsec - bl_now();
    segment->version = BL_LAYOUT;
    segment->header_bytes = sizeof(bl_segment);
    segment->metadata_at = metadata_at;
    segment->metadata_bytes = text;
    segment->slots_at = slots_at;
    segment->slot_bytes = slot_bytes;
    segment->slots = (uint64_t)slots;
    segment->channels = (uint64_t)channels;
    segment->loop_pid = getpid();
    segment->mails = BL_MAILS;
    segment->parameters_at = parameters_at;
    segment->parameters = (uint64_t)parameters;
    segment->cause_cycle = segment->cause_step = -1;
    memcpy((char *)memory + metadata_at, metadata, text);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(segment->magic, BL_MAGIC, 8);
    return segment;
}

void bl_segment_remove(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "/%s", name);
    shm_unlink(path);
}

bl_slot *bl_segment_begin(bl_segment *segment)
{
    const uint64_t place = segment->written%segment->slots;
    bl_slot *slot = (bl_slot *)((char *)segment + segment->slots_at + place*segment->slot_bytes);
    __atomic_store_n(&slot->sequence, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE); /* no later store is seen before this one */
    return slot;
}

void bl_segment_publish(bl_segment *segment, bl_slot *slot)
{
    const uint64_t written = segment->written + 1;
    __atomic_store_n(&slot->sequence, written, __ATOMIC_RELEASE);
    __atomic_store_n(&segment->written, written, __ATOMIC_RELEASE);
}

void bl_segment_log(bl_segment *segment, const bl_event *event)
{
    const uint64_t written = segment->events_written;
    bl_event *place = &segment->events[written%BL_EVENTS];
    __atomic_store_n(&place->sequence, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    bl_words_put((char *)place + 8, (const char *)event + 8, sizeof *event/8 - 1);
    __atomic_store_n(&place->sequence, written + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&segment->events_written, written + 1, __ATOMIC_RELEASE);
}

void bl_histogram_add(bl_histogram *h, int64_t ns)
{
    uint64_t v = ns > 0 ? (uint64_t)ns : 0;
    uint64_t bin = v;
    if (v >= 16) {
        const int octave = 63 - __builtin_clzll(v);
        bin = (uint64_t)(octave - 3)*16 + (v >> (octave - 4) & 15);
        if (bin >= BL_BINS)
            bin = BL_BINS - 1;
    }
    h->bins[bin] += 1;
    if (h->count == 0 || ns < h->least)
        h->least = ns;
    if (h->count == 0 || ns > h->most)
        h->most = ns;
    h->count += 1;
    h->sum += ns;
}

int bl_mail_take(bl_segment *segment, bl_mail *mail, int *looks)
{
    const uint64_t next = segment->mail_taken + 1, given = __atomic_load_n(&segment->mail_given, __ATOMIC_ACQUIRE);
    if (given < next)
        return 0;
    if (given - next < BL_MAILS) {
        bl_words_get(mail, &segment->mail[(next - 1)%BL_MAILS], sizeof *mail/8); /* once: it may change meanwhile */
        uint64_t words[sizeof *mail/8], check = BL_MAIL_KEY;
        memcpy(words, mail, sizeof words);
        for (size_t i = 0; i < sizeof words/8; ++i) /* `check` itself included: 0 if it is right */
            check ^= words[i];
        if (mail->number == next && check == 0) {
            *looks = 0;
            __atomic_store_n(&segment->mail_taken, next, __ATOMIC_RELEASE);
            return 1;
        }
    }
    if (++*looks < BL_MAIL_LOOKS)
        return 0;
    /* More than the mailbox holds cannot have been written: no entry can be told from another, so all go. */
    *looks = 0;
    __atomic_store_n(&segment->mail_taken, given - next < BL_MAILS ? next : given, __ATOMIC_RELEASE);
    return -1;
}
