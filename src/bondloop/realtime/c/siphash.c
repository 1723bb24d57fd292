#include "siphash.h"

#include <string.h>

typedef struct {
    uint64_t v0, v1, v2, v3;
} sip_state;

static inline uint64_t turned(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void sip_round(sip_state *s)
{
    s->v0 += s->v1, s->v1 = turned(s->v1, 13) ^ s->v0, s->v0 = turned(s->v0, 32);
    s->v2 += s->v3, s->v3 = turned(s->v3, 16) ^ s->v2;
    s->v0 += s->v3, s->v3 = turned(s->v3, 21) ^ s->v0;
    s->v2 += s->v1, s->v1 = turned(s->v1, 17) ^ s->v2, s->v2 = turned(s->v2, 32);
}

static inline uint64_t word(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i > 0; --i)
        value = value << 8 | bytes[i - 1];
    return value;
}

static inline void take(sip_state *s, uint64_t m)
{
    s->v3 ^= m;
    sip_round(s);
    sip_round(s);
    s->v0 ^= m;
}

uint64_t bl_siphash(const bl_key *key, const unsigned char *bytes, size_t count)
{
    sip_state s = {key->k0 ^ 0x736f6d6570736575ULL, key->k1 ^ 0x646f72616e646f6dULL,
        key->k0 ^ 0x6c7967656e657261ULL, key->k1 ^ 0x7465646279746573ULL};
    const uint64_t length = (uint64_t)count << 56;
    for (; count >= 8; count -= 8, bytes += 8)
        take(&s, word(bytes, 8));
    take(&s, length | word(bytes, count));
    s.v2 ^= 0xff;
    for (int i = 0; i < 4; ++i)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

int bl_key_read(const char *text, bl_key *key)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];
    if (strlen(text) != 2*sizeof bytes)
        return -1;
    for (size_t i = 0; i < sizeof bytes; ++i) {
        const char *high = strchr(digits, text[2*i]), *low = strchr(digits, text[2*i + 1]);
        if (high == NULL || low == NULL)
            return -1;
        bytes[i] = (unsigned char)((high - digits) << 4 | (low - digits));
    }
    key->k0 = word(bytes, 8);
    key->k1 = word(bytes + 8, 8);
    return 0;
}
