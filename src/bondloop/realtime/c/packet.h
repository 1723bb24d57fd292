/* Packets on the wire, little endian whatever the processor:
 *
 *   offset  bytes
 *        0      4  magic "BLP1"
 *        4      2  version, 1
 *        6      2  kind
 *        8      8  session, chosen by the loop
 *       16      8  sequence: of the command or measurement, from 1; in ALIVE that of the last command
 *       24      8  echo: in a measurement the sequence of the newest command it follows from
 *       32      8  time stamp, ns, of the sender's own monotonic clock
 *       40      4  count n of values
 *       44      4  detail: in HELLO the signature of the signals' names; in REFUSE the one expected
 *       48     8n  values, IEEE 754 doubles
 *    48+8n      4  CRC-32 (that of zlib and Ethernet) of all bytes before
 *
 * HELLO     loop -> rig   values: commands, measured, period in s, 1 for lock-step
 * ACCEPT    rig -> loop   values: the first measured values
 * BUSY      rig -> loop   another loop has the rig
 * REFUSE    rig -> loop   the signals differ; values: commands, measured as the rig has them
 * COMMAND   loop -> rig   values: commands
 * MEASURED  rig -> loop   values: measured
 * BYE       either way    the session is over
 * ALIVE     loop -> rig   no values: the loop is there and commands nothing; the rig stays as it is
 */
#ifndef BL_PACKET_H
#define BL_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "link.h"

enum { BL_HELLO = 1, BL_ACCEPT, BL_BUSY, BL_REFUSE, BL_COMMAND, BL_MEASURED, BL_BYE, BL_ALIVE };

#define BL_PACKET_MAGIC 0x31504c42u
#define BL_PACKET_VERSION 1
#define BL_PACKET_HEAD 48
#define BL_PACKET_VALUES 170 /* most values: larger packets would be broken up by Ethernet */
#define BL_PACKET_BYTES (BL_PACKET_HEAD + 8*BL_PACKET_VALUES + 4)

typedef struct {
    uint16_t kind;
    uint64_t session, sequence, echo;
    int64_t time_ns;
    uint32_t count, detail;
    double values[BL_PACKET_VALUES];
} bl_packet;

/* Which sequence numbers have come. */
typedef struct {
    uint64_t newest, seen; /* bit i of `seen`: newest - i has come */
} bl_sequence;

/* Notes one and counts what was lost, duplicated or reordered; 1 if it is newer than all before. */
int bl_sequence_note(bl_sequence *sequence, uint64_t number, bl_link_counts *counts);

void bl_packet_prepare(void); /* fills the tables of the checksum; call once */
uint32_t bl_crc32(const unsigned char *bytes, size_t count);
size_t bl_packet_write(unsigned char *bytes, const bl_packet *packet);
/* 0, or -1 if the bytes are no intact packet. */
int bl_packet_read(const unsigned char *bytes, size_t count, bl_packet *packet);

#endif
