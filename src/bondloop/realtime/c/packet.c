#define _GNU_SOURCE
#include "packet.h"

#include <stdlib.h>
#include <string.h>

static bl_key key;

int bl_packet_key(void)
{
    const char *text = getenv("BONDLOOP_KEY");
    const int bad = text != NULL && bl_key_read(text, &key);
    unsetenv("BONDLOOP_KEY");
    return bad ? -1 : 0;
}

static uint64_t get(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; --i)
        value = value << 8 | bytes[i];
    return value;
}

static void put(unsigned char *bytes, uint64_t value, int count)
{
    for (int i = 0; i < count; ++i)
        bytes[i] = (unsigned char)(value >> 8*i);
}

size_t bl_packet_write(unsigned char *bytes, const bl_packet *packet)
{
    put(bytes, BL_PACKET_MAGIC, 4);
    put(bytes + 4, BL_PACKET_VERSION, 2);
    put(bytes + 6, packet->kind, 2);
    put(bytes + 8, packet->session, 8);
    put(bytes + 16, packet->sequence, 8);
    put(bytes + 24, packet->echo, 8);
    put(bytes + 32, (uint64_t)packet->time_ns, 8);
    put(bytes + 40, packet->count, 4);
    put(bytes + 44, packet->detail, 4);
    unsigned char *at = bytes + BL_PACKET_HEAD;
    for (uint32_t i = 0; i < packet->count; ++i, at += 8) {
        uint64_t bits;
        memcpy(&bits, &packet->values[i], 8);
        put(at, bits, 8);
    }
    put(at, bl_siphash(&key, bytes, (size_t)(at - bytes)), BL_PACKET_TAG);
    return (size_t)(at - bytes) + BL_PACKET_TAG;
}

int bl_packet_read(const unsigned char *bytes, size_t count, bl_packet *packet)
{
    if (count < BL_PACKET_HEAD + BL_PACKET_TAG || count > BL_PACKET_BYTES || get(bytes, 4) != BL_PACKET_MAGIC
        || get(bytes + 4, 2) != BL_PACKET_VERSION)
        return -1;
    packet->count = (uint32_t)get(bytes + 40, 4);
    if (packet->count > BL_PACKET_VALUES || count != BL_PACKET_HEAD + 8*(size_t)packet->count + BL_PACKET_TAG
        || get(bytes + count - BL_PACKET_TAG, BL_PACKET_TAG) != bl_siphash(&key, bytes, count - BL_PACKET_TAG))
        return -1;
    packet->kind = (uint16_t)get(bytes + 6, 2);
    packet->session = get(bytes + 8, 8);
    packet->sequence = get(bytes + 16, 8);
    packet->echo = get(bytes + 24, 8);
    packet->time_ns = (int64_t)get(bytes + 32, 8);
    packet->detail = (uint32_t)get(bytes + 44, 4);
    for (uint32_t i = 0; i < packet->count; ++i) {
        const uint64_t bits = get(bytes + BL_PACKET_HEAD + 8*i, 8);
        memcpy(&packet->values[i], &bits, 8);
    }
    return 0;
}

int bl_sequence_note(bl_sequence *sequence, uint64_t number, bl_link_counts *counts)
{
    if (number > sequence->newest) {
        const uint64_t ahead = number - sequence->newest;
        counts->lost += ahead - 1;
        sequence->seen = ahead < 64 ? sequence->seen << ahead | 1 : 1;
        sequence->newest = number;
        return 1;
    }
    const uint64_t behind = sequence->newest - number;
    if (behind < 64 && sequence->seen >> behind & 1) {
        counts->duplicated += 1;
        return 0;
    }
    counts->reordered += 1;
    if (behind < 64)
        sequence->seen |= (uint64_t)1 << behind;
    if (counts->lost > 0)
        counts->lost -= 1;
    return 0;
}
