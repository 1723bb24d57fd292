/* UDP: packets as documented in packet.h, both ends. Nothing blocks: the loop and the rig busy-poll. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet.h"
#include "platform.h"
#include "port.h"

#define DRAIN 256            /* packets handled in one call at most, by the loop */
#define RIG_DRAIN 4096       /* and by the rig: more than a socket holds, so that it obeys the newest command */
#define AGAIN_NS 20000000    /* lock-step and handshake: ask again after so long */
#define SPINS 100             /* looks before others may use the processor */

static int file = -1;
static unsigned char bytes[BL_PACKET_BYTES + 1];
static bl_packet in, out;
static bl_sequence received;

/* Finds "host:port" and makes a socket that is bound to it (the rig) or connected with it (the loop). */
static int make_socket(const char *address, int bound, char *message, size_t size)
{
    char host[128];
    const char *colon = strrchr(address, ':');
    if (colon == NULL || colon == address || (size_t)(colon - address) >= sizeof host) {
        snprintf(message, size, "expected udp://HOST:PORT, found udp://%s", address);
        return -1;
    }
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    const struct addrinfo hints = {
        .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM, .ai_flags = bound ? AI_PASSIVE : 0};
    struct addrinfo *found;
    const int error = getaddrinfo(host, colon + 1, &hints, &found);
    if (error) {
        snprintf(message, size, "udp://%s cannot be found: %s", address, gai_strerror(error));
        return -1;
    }
    file = socket(found->ai_family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    const int room = 1 << 20;
    int bad = file < 0;
    if (!bad) {
        setsockopt(file, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        bad = bound ? bind(file, found->ai_addr, found->ai_addrlen)
                    : connect(file, found->ai_addr, found->ai_addrlen);
    }
    if (bad)
        snprintf(message, size, "udp://%s cannot be %s: %s%s", address, bound ? "listened on" : "reached",
            strerror(errno), bound && errno == EADDRINUSE ? "; another rig plays there, choose another port" : "");
    freeaddrinfo(found);
    memset(&received, 0, sizeof received);
    return bad ? -1 : 0;
}

/* ------------------------------------------------------------------ the loop's end */

static bl_link_config *loop;
static uint64_t session, answered; /* `answered`: newest command that a measurement follows from */
static uint64_t asked;             /* the session as we have asked for it, before the rig's share */
static int gone;                   /* the rig has said goodbye */

/* What goes with everything from the HELLO on. */
static uint32_t enable_word(void)
{
    return BL_WORD_KNOWN | (loop->enable & BL_ENABLE ? BL_WORD_ENABLE : 0u)
        | (loop->enable & BL_BEAT ? BL_WORD_BEAT : 0u);
}

static void loop_send(uint16_t kind, const double *values, long count, uint32_t detail)
{
    out.kind = kind;
    out.session = session;
    out.time_ns = bl_now();
    out.count = (uint32_t)count;
    out.detail = detail;
    memcpy(out.values, values, sizeof(double)*(size_t)count);
    const size_t n = bl_packet_write(bytes, &out);
    /* A full buffer or a rig that is not there: noticed by the answers that do not come. */
    (void)!send(file, bytes, n, 0);
}

static uint64_t drawn(void)
{
    uint64_t number = (uint64_t)bl_now() ^ (uint64_t)getpid() << 40;
    FILE *random = fopen("/dev/urandom", "rb");
    if (random != NULL) {
        uint64_t better;
        if (fread(&better, sizeof better, 1, random) == 1 && better != 0)
            number = better;
        fclose(random);
    }
    return number;
}

static int udp_open(bl_link_config *config, double *measured)
{
    if (config->commands + BL_PACKET_OFFER > BL_PACKET_VALUES || config->measured > BL_PACKET_VALUES) {
        snprintf(config->message, sizeof config->message, "a packet has room for %d values", BL_PACKET_VALUES);
        return BL_LINK_FAILED;
    }
    if (make_socket(config->address, 0, config->message, sizeof config->message))
        return BL_LINK_FAILED;
    loop = config;
    memset(&out, 0, sizeof out);
    answered = 0;
    gone = 0;
    session = drawn();
    double offer[BL_PACKET_VALUES] = {
        (double)config->commands, (double)config->measured, config->period, (double)config->lock_step};
    memcpy(offer + BL_PACKET_OFFER, config->safe, sizeof(double)*(size_t)config->commands);
    const int64_t end = bl_now() + config->timeout_ns;
    for (int64_t now = bl_now(), next = now; now < end && !bl_asked_to_end; now = bl_now()) {
        if (now >= next) {
            loop_send(BL_HELLO, offer, BL_PACKET_OFFER + config->commands, config->signature);
            next = now + AGAIN_NS;
        }
        struct pollfd ready = {.fd = file, .events = POLLIN};
        poll(&ready, 1, 1);
        const ssize_t n = recv(file, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 || bl_packet_read(bytes, (size_t)n, &in) || in.session != session)
            continue;
        if (in.kind == BL_ACCEPT && in.count == (uint32_t)config->measured) {
            memcpy(measured, in.values, sizeof(double)*in.count);
            asked = session;
            session ^= in.echo; /* the rig's share: packets of an earlier session are of no use to anybody */
            config->emulated = in.detail == BL_PACKET_MODEL;
            config->tells_stop = (in.sequence & BL_WORD_KNOWN) != 0;
            config->stopped = config->tells_stop && (in.sequence & BL_WORD_PRESSED);
            return BL_LINK_FRESH;
        }
        if (in.kind == BL_BUSY) {
            snprintf(config->message, sizeof config->message,
                "the rig at udp://%s is in use by another loop; end that one, or wait until it has timed out",
                config->address);
            return BL_LINK_BUSY;
        }
        if (in.kind == BL_REFUSE) {
            snprintf(config->message, sizeof config->message,
                "the rig at udp://%s has other signals or another rate; build both from the same test",
                config->address);
            return BL_LINK_FAILED;
        }
    }
    snprintf(config->message, sizeof config->message,
        "no rig answers at udp://%s, or it has another key; start one with 'bondloop rig'", config->address);
    return BL_LINK_FAILED;
}

/* Takes what has come; 1 if there was a measurement newer than all before that has not lain in the queue: the queue
   is empty now, as it was after the last call. What the kernel kept beyond DRAIN packets is old: it drops the newest
   where its buffer is full. */
static int loop_drain(double *measured, bl_link_counts *counts)
{
    static double newest[BL_PACKET_VALUES];
    static int piled;
    const int was_piled = piled;
    int fresh = 0, pressed = 0;
    piled = !loop->lock_step;
    for (int i = 0; i < DRAIN; ++i) {
        const ssize_t n = recv(file, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0) {
            piled = 0;
            break;
        }
        if (bl_packet_read(bytes, (size_t)n, &in)) {
            counts->corrupted += 1;
        } else if (in.kind == BL_ACCEPT && in.session == asked) {
            continue; /* a rig that was slow has answered each of our greetings */
        } else if (in.session != session) {
            counts->foreign += 1;
        } else if (in.kind == BL_BYE) {
            gone = 1;
        } else if (in.kind == BL_MEASURED && in.echo > out.sequence) {
            counts->corrupted += 1; /* the answer to a command that was never sent: the rig does not hear us */
        } else if (in.kind == BL_MEASURED && in.count == (uint32_t)loop->measured) {
            counts->received += 1;
            if (bl_sequence_note(&received, in.sequence, counts)) {
                memcpy(newest, in.values, sizeof(double)*in.count);
                answered = in.echo;
                fresh = 1;
                pressed |= (in.detail & BL_WORD_KNOWN) && (in.detail & BL_WORD_PRESSED);
                if (loop->lock_step && answered == out.sequence)
                    break;
            }
        }
    }
    if (fresh)
        loop->stopped = pressed; /* also where they have lain in the queue: in any of them */
    if (!fresh || piled || was_piled)
        return 0;
    memcpy(measured, newest, sizeof(double)*(size_t)loop->measured);
    return 1;
}

static int udp_wait(const double *commands, double *measured, bl_link_counts *counts)
{
    int64_t again = bl_now() + AGAIN_NS;
    const int64_t end = again - AGAIN_NS + loop->timeout_ns;
    for (long spins = 0;; ++spins) {
        if (loop_drain(measured, counts) && answered == out.sequence)
            return BL_LINK_FRESH;
        if (gone)
            return BL_LINK_LOST;
        if (spins%64 == 63) {
            const int64_t now = bl_now();
            if (now > end)
                return BL_LINK_LOST;
            if (now > again) {
                if (commands != NULL)
                    loop_send(BL_COMMAND, commands, loop->commands, enable_word());
                again = now + AGAIN_NS;
            }
        }
        if (spins > SPINS)
            sched_yield();
    }
}

static int udp_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    if (commands != NULL) {
        out.sequence += 1;
        loop_send(BL_COMMAND, commands, loop->commands, enable_word());
        counts->sent += 1;
    } else if (measured == NULL) {
        static double unused[BL_PACKET_VALUES];
        loop_send(BL_ALIVE, out.values, 0, enable_word());
        if (loop->lock_step)
            loop_drain(unused, counts); /* from a rig that answers these, too: they must not pile up */
    }
    if (measured == NULL)
        return BL_LINK_OLD;
    if (loop->lock_step) {
        const int came = udp_wait(commands, measured, counts);
        counts->age = (int64_t)(out.sequence - answered);
        return came;
    }
    int fresh = loop_drain(measured, counts);
    if (!fresh && loop->poll_ns > 0)
        for (const int64_t end = bl_now() + loop->poll_ns; !fresh && bl_now() < end;)
            fresh = loop_drain(measured, counts);
    counts->age = (int64_t)(out.sequence - answered);
    counts->late += counts->age > 0;
    if (gone)
        return BL_LINK_LOST;
    return fresh ? BL_LINK_FRESH : BL_LINK_OLD;
}

static void udp_close(void)
{
    if (file >= 0) {
        loop_send(BL_BYE, out.values, 0, BL_WORD_KNOWN);
        close(file);
        file = -1;
    }
}

const bl_link bl_link_udp = {
    "udp", BL_LINK_REAL_TIME | BL_LINK_LOCK_STEP | BL_LINK_EXCLUSIVE, udp_open, udp_exchange, udp_close};

/* ------------------------------------------------------------------- the rig's end */

static bl_port_config *rig;
static struct sockaddr_in peer, asking;
static int is_lock_step, begun; /* `begun`: the loop has had its answer */
static uint64_t hello, nonce;   /* the session as the loop has asked for it, and what we have added to it */
static bl_link_counts rig_counts;

static void rig_send(uint16_t kind, const double *values, long count, const struct sockaddr_in *to)
{
    out.kind = kind;
    out.time_ns = bl_now();
    out.count = (uint32_t)count;
    memcpy(out.values, values, sizeof(double)*(size_t)count);
    const size_t n = bl_packet_write(bytes, &out);
    (void)!sendto(file, bytes, n, 0, (const struct sockaddr *)to, sizeof *to);
}

static int port_open(bl_port_config *config)
{
    rig = config;
    if (config->commands + BL_PACKET_OFFER > BL_PACKET_VALUES || config->measured > BL_PACKET_VALUES) {
        snprintf(config->message, sizeof config->message, "a packet has room for %d values", BL_PACKET_VALUES);
        return -1;
    }
    session = 0;
    if (make_socket(config->address, 1, config->message, sizeof config->message))
        return -1;
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    getsockname(file, (struct sockaddr *)&own, &size);
    snprintf(config->message, sizeof config->message, "udp://%s:%d", inet_ntoa(own.sin_addr), ntohs(own.sin_port));
    return 0;
}

static int is_peer(void)
{
    return asking.sin_addr.s_addr == peer.sin_addr.s_addr && asking.sin_port == peer.sin_port;
}

static int is_withdrawn(uint32_t word)
{
    return (word & BL_WORD_KNOWN) && !(word & BL_WORD_ENABLE);
}

static uint32_t stop_word(void)
{
    return BL_WORD_KNOWN | (rig->pressed ? BL_WORD_PRESSED : 0u);
}

/* Whether all values of a packet are numbers. */
static int are_finite(const bl_packet *packet)
{
    for (uint32_t i = 0; i < packet->count; ++i)
        if (!bl_is_finite(packet->values[i]))
            return 0;
    return 1;
}

/* An answer without values to somebody who has no session, about which nothing more is told. */
static int turn_away(uint16_t kind)
{
    const bl_packet kept = out;
    out.session = in.session;
    out.sequence = out.echo = 0;
    out.detail = 0;
    rig_send(kind, in.values, 0, &asking);
    out.session = kept.session;
    out.sequence = kept.sequence;
    out.echo = kept.echo;
    out.detail = kept.detail;
    return BL_PORT_NOTHING;
}

static int rig_hello(void)
{
    if (session != 0 && (in.session != hello || !is_peer()))
        return turn_away(BL_BUSY);
    if (in.count != (uint32_t)(BL_PACKET_OFFER + rig->commands) || in.detail != rig->signature || !are_finite(&in)
        || in.values[0] != (double)rig->commands || in.values[1] != (double)rig->measured
        || !rig->accepts(in.values[2]))
        return turn_away(BL_REFUSE);
    if (session != 0) /* a copy: its answer is late, or was lost */
        return begun ? BL_PORT_NOTHING : BL_PORT_OPENED;
    begun = 0;
    rig->withdrawn = 1;
    is_lock_step = in.values[3] != 0;
    memcpy(rig->safe, in.values + BL_PACKET_OFFER, sizeof(double)*(size_t)rig->commands);
    hello = in.session;
    do
        nonce = drawn();
    while ((hello ^ nonce) == 0);
    session = out.session = hello ^ nonce;
    out.sequence = out.echo = 0;
    memset(&received, 0, sizeof received);
    peer = asking;
    return BL_PORT_OPENED;
}

static int port_receive(double *commands, int64_t wait_ns)
{
    int found = BL_PORT_NOTHING;
    if (wait_ns > 0) {
        struct pollfd ready = {.fd = file, .events = POLLIN};
        const struct timespec t = {.tv_sec = wait_ns/1000000000, .tv_nsec = wait_ns%1000000000};
        ppoll(&ready, 1, &t, NULL);
    }
    for (int i = 0; i < RIG_DRAIN; ++i) {
        socklen_t size = sizeof asking;
        const ssize_t n = recvfrom(file, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&asking, &size);
        if (n < 0)
            break;
        if (bl_packet_read(bytes, (size_t)n, &in)) {
            rig_counts.corrupted += 1;
            continue;
        }
        if (in.kind == BL_HELLO) {
            if (rig_hello() == BL_PORT_OPENED)
                return BL_PORT_OPENED;
        } else if (in.session != session || session == 0 || !is_peer()) {
            rig_counts.foreign += 1;
        } else if (!are_finite(&in)) {
            rig_counts.corrupted += 1;
        } else if (in.kind == BL_BYE) {
            session = 0;
            return BL_PORT_CLOSED;
        } else if (in.kind == BL_COMMAND && in.count == (uint32_t)rig->commands) {
            rig_counts.received += 1;
            begun = 1;
            if (bl_sequence_note(&received, in.sequence, &rig_counts)) {
                rig->withdrawn = is_withdrawn(in.detail);
                if (commands != NULL) {
                    memcpy(commands, in.values, sizeof(double)*in.count);
                    out.echo = in.sequence;
                }
                found = BL_PORT_COMMAND;
            } else if (is_lock_step && in.sequence == received.newest && found == BL_PORT_NOTHING) {
                found = BL_PORT_AGAIN;
            }
            if (is_lock_step)
                break;
        } else if (in.kind == BL_ALIVE) {
            begun = 1;
            rig->withdrawn = is_withdrawn(in.detail);
            if (found == BL_PORT_NOTHING)
                found = BL_PORT_ALIVE;
            if (is_lock_step)
                break;
        }
    }
    return found;
}

static void port_accept(const double *measured)
{
    out.session = hello;
    out.echo = nonce;
    const uint64_t kept = out.sequence;
    out.sequence = stop_word();
    out.detail = BL_PACKET_MODEL;
    rig_send(BL_ACCEPT, measured, rig->measured, &peer);
    out.session = session;
    out.sequence = kept;
    out.echo = 0;
}

static void port_publish(const double *measured)
{
    out.sequence += 1;
    out.detail = stop_word();
    rig_send(BL_MEASURED, measured, rig->measured, &peer);
    rig_counts.sent += 1;
}

static int port_lock_step(void)
{
    return is_lock_step;
}

static void port_release(void)
{
    session = 0;
}

static void port_close(void)
{
    if (file >= 0)
        close(file);
    file = -1;
}

const bl_port bl_port_udp = {"udp", port_open, port_receive, port_accept, port_publish, port_lock_step,
    port_release, port_close, &rig_counts};
