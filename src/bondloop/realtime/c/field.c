#include "field.h"

#include <math.h>
#include <string.h>

long bl_field_bytes(int type)
{
    static const long bytes[] = {1, 1, 2, 2, 4, 4, 4, 8};
    return bytes[type];
}

static uint64_t gather(const unsigned char *at, long bytes, int is_big)
{
    uint64_t word = 0;
    for (long i = 0; i < bytes; ++i)
        word = word << 8 | at[is_big ? i : bytes - 1 - i];
    return word;
}

static void scatter(unsigned char *at, long bytes, int is_big, uint64_t word)
{
    for (long i = 0; i < bytes; ++i, word >>= 8)
        at[is_big ? bytes - 1 - i : i] = (unsigned char)(word & 255u);
}

double bl_field_get(const unsigned char *at, int type, int is_big)
{
    const uint64_t word = gather(at, bl_field_bytes(type), is_big);
    const uint32_t half = (uint32_t)word;
    float single;
    double whole;
    switch (type) {
    case BL_INT8: return (double)(word < 128 ? (int64_t)word : (int64_t)word - 256);
    case BL_INT16: return (double)(word < 32768 ? (int64_t)word : (int64_t)word - 65536);
    case BL_INT32: return (double)(word < 2147483648u ? (int64_t)word : (int64_t)word - 4294967296);
    case BL_FLOAT32: memcpy(&single, &half, sizeof single); return (double)single;
    case BL_FLOAT64: memcpy(&whole, &word, sizeof whole); return whole;
    default: return (double)word;
    }
}

int bl_field_put(unsigned char *at, int type, int is_big, double value)
{
    static const double least[] = {-128, 0, -32768, 0, -2147483648.0, 0, -3.4028234663852886e38, -1.7976931348623157e308};
    static const double most[] = {127, 255, 32767, 65535, 2147483647.0, 4294967295.0, 3.4028234663852886e38,
        1.7976931348623157e308};
    uint64_t word = 0;
    const double number = type < BL_FLOAT32 ? nearbyint(value) : value;
    if (!(number >= least[type] && number <= most[type]))
        return -1;
    if (type == BL_FLOAT64) {
        memcpy(&word, &number, sizeof word);
    } else if (type == BL_FLOAT32) {
        const float single = (float)number;
        uint32_t half;
        memcpy(&half, &single, sizeof half);
        word = half;
    } else {
        word = (uint64_t)(int64_t)number;
    }
    scatter(at, bl_field_bytes(type), is_big, word);
    return 0;
}

uint32_t bl_crc16(const unsigned char *bytes, long count)
{
    uint32_t crc = 0xffffu;
    for (long i = 0; i < count; ++i) {
        crc ^= (uint32_t)bytes[i] << 8;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 0x8000u ? crc << 1 ^ 0x1021u : crc << 1) & 0xffffu;
    }
    return crc;
}

uint32_t bl_crc32(const unsigned char *bytes, long count)
{
    uint32_t crc = 0xffffffffu;
    for (long i = 0; i < count; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit)
            crc = crc & 1u ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    return crc ^ 0xffffffffu;
}
