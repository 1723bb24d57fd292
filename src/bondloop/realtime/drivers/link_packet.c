/* A link to a controller that speaks packets of its own (Speedgoat, dSPACE, LabVIEW, a microcontroller), by UDP or TCP:
 *
 *   packet://HOST:PORT          packet://HOST:PORT?tcp
 *
 * What is where in the packets is said by the channels file: fields of channels, a counter, an echo of ours, a checksum,
 * the emergency stop, the enable, faults. Docs: connecting-your-rig.md. There is no key: a network of its own, please.
 *
 * Where the packets have an enable, they are sent from the beginning, not enabled, with the outputs where their feedback shows them, or
 * at rest. Where they
 * have none nothing is sent before the first command, and the controller must send by itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "channels.h"
#include "platform.h"

#define LONGEST 1400
#define MOST_A_CALL 256 /* packets that are read in one cycle */

static int wire = -1;
static int is_tcp, commanded, is_broken;
static bl_link_config *loop;
static uint32_t counted;                  /* our counter, of the next packet */
static int heard;                         /* a first packet has come */
static uint32_t last_counter;             /* the controller's newest */
static unsigned char stream[2*LONGEST];   /* TCP: what has come of the next packets */
static long streamed;
static double raw[BL_MOST_CHANNELS], out[BL_MOST_CHANNELS];
static long out_at[BL_MOST_CHANNELS], in_at[BL_MOST_CHANNELS];

/* ------------------------------------------------------------------ open: all that may fail, block or allocate */

static int refuse(bl_link_config *config, const char *what, const char *found)
{
    snprintf(config->message, sizeof config->message, "packet://%.80s: %s%.100s", config->address, what, found);
    return BL_LINK_FAILED;
}

static const bl_packet_field *find(const bl_packet_side *side, int role)
{
    for (long i = 0; i < side->count; ++i)
        if (side->fields[i].role == role)
            return &side->fields[i];
    return NULL;
}

/* Python has checked the layout; a program that was changed by hand is checked here once more. */
static int place(bl_link_config *config, const bl_channel *channels, long count, const bl_packet_side *side, long *at)
{
    for (long i = 0; i < count; ++i) {
        char *end;
        at[i] = strtol(channels[i].at, &end, 10); /* "010" is ten, as for Python */
        if (*end != '\0' || channels[i].type < 0 || at[i] < 0 || at[i] + bl_field_bytes(channels[i].type) > side->bytes)
            return refuse(config, "no field of the packet: channel ", channels[i].at);
    }
    return 0;
}

static int connect_to(bl_link_config *config)
{
    char host[256];
    const char *colon = strrchr(config->address, ':'), *question = strchr(config->address, '?');
    if (colon == NULL || (size_t)(colon - config->address) >= sizeof host)
        return refuse(config, "expected packet://HOST:PORT or packet://HOST:PORT?tcp", "");
    if (question != NULL && strcmp(question, "?tcp") != 0)
        return refuse(config, "expected ?tcp or nothing behind the port; found ", question);
    is_tcp = question != NULL;
    memcpy(host, config->address, (size_t)(colon - config->address));
    host[colon - config->address] = '\0';
    char port[16];
    const size_t length = question == NULL ? strlen(colon + 1) : (size_t)(question - colon - 1);
    if (length == 0 || length >= sizeof port)
        return refuse(config, "expected the number of a port; found ", colon + 1);
    memcpy(port, colon + 1, length);
    port[length] = '\0';
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = is_tcp ? SOCK_STREAM : SOCK_DGRAM}, *found = NULL;
    const int code = getaddrinfo(host, port, &hints, &found);
    if (code != 0)
        return refuse(config, "no such address: ", gai_strerror(code));
    wire = socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int wrong = wire < 0 ? errno : 0;
    if (!wrong && connect(wire, found->ai_addr, found->ai_addrlen) < 0) {
        wrong = errno;
        if (wrong == EINPROGRESS) {
            struct pollfd ready = {.fd = wire, .events = POLLOUT};
            socklen_t size = sizeof wrong;
            if (poll(&ready, 1, (int)(config->timeout_ns/1000000)) <= 0)
                wrong = ETIMEDOUT;
            else if (getsockopt(wire, SOL_SOCKET, SO_ERROR, &wrong, &size) < 0)
                wrong = errno;
        }
    }
    freeaddrinfo(found);
    const int at_once = 1;
    if (!wrong && is_tcp && setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once) < 0)
        wrong = errno;
    return wrong ? refuse(config, "cannot be reached: ", strerror(wrong)) : 0;
}

/* ---------------------------------------------------------------------------------------------------- packets */

static uint32_t wrapped(uint32_t number, int type)
{
    const long bits = 8*bl_field_bytes(type);
    return bits >= 32 ? number : number & ((1u << bits) - 1u);
}

/* Newer by so many, or older if negative, where a counter begins again at its end. */
static int64_t ahead(uint32_t now, uint32_t before, int type)
{
    const long bits = 8*bl_field_bytes(type);
    const int64_t full = (int64_t)1 << bits, apart = ((int64_t)now - (int64_t)before + full)%full;
    return apart > full/2 ? apart - full : apart;
}

/* 0, or -1: a value did not fit, or the packet did not leave. */
static int send_packet(const double *values)
{
    unsigned char packet[LONGEST];
    const bl_packet_side *side = &bl_lab.send;
    int wrong = 0;
    memset(packet, 0, sizeof packet);
    for (long i = 0; i < bl_lab.outputs + bl_lab.idles; ++i)
        if (bl_field_put(packet + out_at[i], bl_lab.output[i].type, bl_lab.is_big, values[i])) {
            bl_link_fault(loop, BL_FAULT_OUTPUT, "%s: %.6g does not fit into its field", bl_lab.output[i].name, values[i]);
            return -1;
        }
    for (long i = 0; i < side->count; ++i) {
        const bl_packet_field *f = &side->fields[i];
        unsigned char *at = packet + f->at;
        if (f->role == BL_CONSTANT)
            wrong |= bl_field_put(at, f->type, bl_lab.is_big, f->value);
        else if (f->role == BL_COUNTER)
            wrong |= bl_field_put(at, f->type, bl_lab.is_big, wrapped(counted, f->type));
        else if (f->role == BL_ENABLE_WORD)
            wrong |= bl_field_put(at, f->type, bl_lab.is_big, loop->enable);
    }
    for (long i = 0; i < side->count; ++i) { /* of all that is before it */
        const bl_packet_field *f = &side->fields[i];
        if (f->role == BL_CRC16 || f->role == BL_CRC32)
            wrong |= bl_field_put(packet + f->at, f->type, bl_lab.is_big,
                f->role == BL_CRC16 ? bl_crc16(packet, f->at) : bl_crc32(packet, f->at));
    }
    counted += 1;
    if (wrong || send(wire, packet, (size_t)side->bytes, MSG_NOSIGNAL) != side->bytes) {
        is_broken |= is_tcp; /* half a packet in a stream: nothing behind it can be read */
        return -1;
    }
    return 0;
}

static int is_sound(const unsigned char *packet)
{
    const bl_packet_side *side = &bl_lab.receive;
    for (long i = 0; i < side->count; ++i) {
        const bl_packet_field *f = &side->fields[i];
        const double found = bl_field_get(packet + f->at, f->type, bl_lab.is_big);
        const double wanted = f->role == BL_CONSTANT ? f->value
            : f->role == BL_CRC16                    ? (double)bl_crc16(packet, f->at)
            : f->role == BL_CRC32                    ? (double)bl_crc32(packet, f->at)
                                                     : found;
        if (found != wanted && f->role != BL_COUNTER && f->role != BL_ECHO && f->role != BL_STOP_WORD)
            return 0;
    }
    return 1;
}

/* Whether a sound packet is newer than the newest. */
static int is_newer(const unsigned char *packet, bl_link_counts *counts)
{
    const bl_packet_field *f = find(&bl_lab.receive, BL_COUNTER);
    if (f == NULL)
        return 1;
    const uint32_t number = (uint32_t)bl_field_get(packet + f->at, f->type, bl_lab.is_big);
    const int64_t by = heard ? ahead(number, last_counter, f->type) : 1;
    if (by <= 0) {
        counts->duplicated += by == 0;
        counts->reordered += by < 0;
        return 0;
    }
    counts->lost += (uint64_t)(by - 1);
    last_counter = number;
    return 1;
}

/* What a packet says of the controller: one that says so is enough, though a newer one does not. */
static void judge(const unsigned char *packet)
{
    const bl_packet_field *stop = find(&bl_lab.receive, BL_STOP_WORD);
    if (stop != NULL && bl_field_get(packet + stop->at, stop->type, bl_lab.is_big) != 0.0)
        loop->stopped = 1;
    for (long i = 0; i < bl_lab.faults; ++i) {
        const bl_fault_source *f = &bl_lab.fault[i];
        const double word = bl_field_get(packet + strtol(f->at, NULL, 10), f->type, bl_lab.is_big);
        bl_channels_fault(loop, f, (uint32_t)(int64_t)word);
    }
}

static void take(const unsigned char *packet, double *measured, bl_link_counts *counts)
{
    for (long i = 0; i < bl_lab.inputs; ++i)
        raw[i] = bl_field_get(packet + in_at[i], bl_lab.input[i].type, bl_lab.is_big);
    bl_channels_measured(raw, measured);
    if (!commanded)
        bl_channels_hold(measured, out);
    const bl_packet_field *echo = find(&bl_lab.receive, BL_ECHO), *sent = find(&bl_lab.send, BL_COUNTER);
    if (echo != NULL && sent != NULL && commanded) {
        /* The narrower of the two is what both know: a counter of 16 bits comes back as 0 after 65535, in 32 bits too. */
        const int type = bl_field_bytes(sent->type) < bl_field_bytes(echo->type) ? sent->type : echo->type;
        const uint32_t number = (uint32_t)bl_field_get(packet + echo->at, echo->type, bl_lab.is_big);
        const int64_t age = ahead(wrapped(counted - 1, type), wrapped(number, type), type);
        counts->age = age > 0 ? age : 0;
        counts->late += age > 0;
    }
    heard = 1;
}

/* The next packet into `packet`: 1; 2 if it is not to be used, 0 if there is none, -1 if the link is lost. */
static int next_packet(unsigned char *packet, bl_link_counts *counts)
{
    const long bytes = bl_lab.receive.bytes;
    if (!is_tcp) {
        unsigned char all[LONGEST + 1]; /* one more: what is longer shows */
        const ssize_t came = recv(wire, all, sizeof all, 0);
        if (came < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNREFUSED ? 0 : -1;
        counts->received += 1;
        memcpy(packet, all, (size_t)bytes);
        if (came == bytes && is_sound(packet))
            return 1;
        counts->corrupted += 1;
        return 2; /* there may be more */
    }
    if (streamed < bytes) {
        const ssize_t came = recv(wire, stream + streamed, (size_t)((long)sizeof stream - streamed), 0);
        if (came == 0 || (came < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
            return -1;
        streamed += came > 0 ? (long)came : 0;
        if (streamed < bytes)
            return 0;
    }
    memcpy(packet, stream, (size_t)bytes);
    streamed -= bytes;
    memmove(stream, stream + bytes, (size_t)streamed);
    counts->received += 1;
    if (is_sound(packet))
        return 1;
    counts->corrupted += 1;
    return -1; /* where the next one begins is not known any more */
}

/* The newest that there is: FRESH, OLD, or LOST. */
static int drain(double *measured, bl_link_counts *counts)
{
    unsigned char packet[LONGEST], newest[LONGEST];
    int fresh = 0, more = 1;
    for (int i = 0; i < MOST_A_CALL && (more = next_packet(packet, counts)) > 0; ++i)
        if (more == 1 && is_newer(packet, counts)) {
            if (!fresh)
                loop->stopped = 0, loop->fault = 0;
            judge(packet);
            memcpy(newest, packet, (size_t)bl_lab.receive.bytes);
            fresh = 1;
        }
    if (more < 0)
        return BL_LINK_LOST;
    if (!fresh)
        return BL_LINK_OLD;
    take(newest, measured, counts);
    return more > 0 ? BL_LINK_OLD : BL_LINK_FRESH; /* what lay in a queue is not fresh */
}

static int link_open(bl_link_config *config, double *measured)
{
    loop = config;
    commanded = heard = is_broken = 0;
    counted = 0;
    streamed = 0;
    if (bl_channels_open(config))
        return BL_LINK_FAILED;
    if (bl_lab.receive.bytes <= 0 || bl_lab.send.bytes <= 0)
        return refuse(config, "the channels file has no [packet], which says what the packets look like", "");
    if (place(config, bl_lab.output, bl_lab.outputs + bl_lab.idles, &bl_lab.send, out_at)
        || place(config, bl_lab.input, bl_lab.inputs, &bl_lab.receive, in_at) || connect_to(config))
        return BL_LINK_FAILED;
    for (long i = 0; i < bl_lab.outputs + bl_lab.idles; ++i)
        out[i] = bl_channel_raw(&bl_lab.output[i], bl_lab.output[i].rest);
    config->tells_stop = find(&bl_lab.receive, BL_STOP_WORD) != NULL;
    bl_link_counts counts = {.sent = 0};
    const int64_t end = bl_now() + config->timeout_ns;
    while (bl_now() < end) {
        if (find(&bl_lab.send, BL_ENABLE_WORD) != NULL)
            (void)send_packet(out);
        struct pollfd ready = {.fd = wire, .events = POLLIN};
        (void)poll(&ready, 1, 20);
        const int came = drain(measured, &counts);
        if (came == BL_LINK_LOST)
            return refuse(config, "the controller has closed the connection, or sends what is no such packet", "");
        if (heard && came == BL_LINK_FRESH)
            return BL_LINK_FRESH;
    }
    char found[96];
    snprintf(found, sizeof found, "; %lld came that are none", (long long)counts.corrupted);
    return refuse(config, "no packet of the described layout came in time", counts.corrupted ? found : "");
}

/* ------------------------------------------------------------------------------ exchange and close: every tick */

static int link_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    int wrong = is_broken;
    if (commands != NULL) {
        double wanted[BL_MOST_CHANNELS];
        wrong |= bl_channels_commands(loop, commands, wanted);
        for (long i = 0; i < bl_lab.outputs; ++i)
            if (!bl_is_nan(wanted[i]))
                out[i] = wanted[i]; /* else it is held */
        commanded = 1;
        counts->sent += 1;
        wrong |= send_packet(out);
    } else if (measured == NULL && find(&bl_lab.send, BL_ENABLE_WORD) != NULL) {
        wrong |= send_packet(out);
    }
    if (wrong)
        return BL_LINK_LOST;
    return measured == NULL ? BL_LINK_OLD : drain(measured, counts);
}

static void link_close(void)
{
    if (wire < 0)
        return;
    if (commanded) {
        loop->enable = 0;
        double wanted[BL_MOST_CHANNELS];
        if (!loop->halted && bl_channels_commands(loop, loop->safe, wanted) == 0)
            memcpy(out, wanted, sizeof(double)*(size_t)bl_lab.outputs);
        (void)send_packet(out);
    }
    if (is_tcp && shutdown(wire, SHUT_WR) == 0) {
        /* A connection that is closed with something unread is reset, and what was sent last is lost with it. */
        const int64_t end = bl_now() + 200000000;
        struct pollfd ready = {.fd = wire, .events = POLLIN};
        while (bl_now() < end && poll(&ready, 1, 20) >= 0 && recv(wire, stream, sizeof stream, 0) != 0)
            continue;
    }
    close(wire);
    wire = -1;
    commanded = 0;
}

const bl_link bl_link_packet = {"packet", BL_LINK_REAL_TIME, link_open, link_exchange, link_close};
