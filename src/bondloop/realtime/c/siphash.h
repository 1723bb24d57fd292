/* SipHash-2-4 (Aumasson and Bernstein 2012): a keyed hash of 64 bits, fast for short messages. */
#ifndef BL_SIPHASH_H
#define BL_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t k0, k1; /* the bytes of the key, little endian */
} bl_key;

uint64_t bl_siphash(const bl_key *key, const unsigned char *bytes, size_t count);

/* Reads a key of 32 hexadecimal digits; 0, or -1 for anything else. */
int bl_key_read(const char *text, bl_key *key);

#endif
