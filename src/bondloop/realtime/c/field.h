/* Numbers in packets and process images: so many bytes, in one order or the other, at any place. */
#ifndef BL_FIELD_H
#define BL_FIELD_H

#include <stdint.h>

/* The numbers are those of bondloop/realtime/channels/channel.py. */
enum { BL_INT8, BL_UINT8, BL_INT16, BL_UINT16, BL_INT32, BL_UINT32, BL_FLOAT32, BL_FLOAT64 };

long bl_field_bytes(int type);
double bl_field_get(const unsigned char *at, int type, int is_big);
/* 0, or -1 where the value does not fit, and nothing was written; what is no whole number is rounded. */
int bl_field_put(unsigned char *at, int type, int is_big, double value);

/* CCITT, from 0xFFFF; and that of Ethernet and zlib. */
uint32_t bl_crc16(const unsigned char *bytes, long count);
uint32_t bl_crc32(const unsigned char *bytes, long count);

#endif
