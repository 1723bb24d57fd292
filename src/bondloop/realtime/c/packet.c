#include "packet.h"

#include <string.h>

static uint32_t tables[8][256];

void bl_packet_prepare(void)
{
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; ++bit)
            c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        tables[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; ++i)
        for (int k = 1; k < 8; ++k)
            tables[k][i] = tables[0][tables[k - 1][i] & 255] ^ (tables[k - 1][i] >> 8);
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

/* Eight bytes at a time. */
uint32_t bl_crc32(const unsigned char *bytes, size_t count)
{
    uint32_t c = 0xffffffffu;
    for (; count >= 8; count -= 8, bytes += 8) {
        const uint32_t low = c ^ (uint32_t)get(bytes, 4), high = (uint32_t)get(bytes + 4, 4);
        c = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24]
            ^ tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255]
            ^ tables[0][high >> 24];
    }
    for (; count > 0; --count, ++bytes)
        c = tables[0][(c ^ *bytes) & 255] ^ (c >> 8);
    return ~c;
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
    put(at, bl_crc32(bytes, (size_t)(at - bytes)), 4);
    return (size_t)(at - bytes) + 4;
}

int bl_packet_read(const unsigned char *bytes, size_t count, bl_packet *packet)
{
    if (count < BL_PACKET_HEAD + 4 || count > BL_PACKET_BYTES || get(bytes, 4) != BL_PACKET_MAGIC
        || get(bytes + 4, 2) != BL_PACKET_VERSION)
        return -1;
    packet->count = (uint32_t)get(bytes + 40, 4);
    if (packet->count > BL_PACKET_VALUES || count != BL_PACKET_HEAD + 8*(size_t)packet->count + 4
        || get(bytes + count - 4, 4) != bl_crc32(bytes, count - 4))
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
