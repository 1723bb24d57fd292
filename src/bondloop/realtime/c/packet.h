/* Packets on the wire, little endian whatever the processor:
 *
 *   offset  bytes
 *        0      4  magic "BLP2"
 *        4      2  version, 2
 *        6      2  kind
 *        8      8  session, chosen by the loop
 *       16      8  sequence: of the command or measurement, from 1; in ALIVE that of the last command
 *       24      8  echo: in a measurement the sequence of the newest command it follows from; in ACCEPT a number
 *                  that the rig draws, and that all later packets have in their session, by exclusive or
 *       32      8  time stamp, ns, of the sender's own monotonic clock
 *       40      4  count n of values
 *       44      4  detail: in HELLO the signature of the signals' names; in ACCEPT "MODL" where the rig is a model;
 *                  in COMMAND, ALIVE, BYE and MEASURED the word of the emergency stop (in ACCEPT that is `sequence`)
 *       48     8n  values, IEEE 754 doubles
 *    48+8n      8  SipHash-2-4 of all bytes before, with the key that both ends were given (0 where none was)
 *
 * HELLO     loop -> rig   values: commands, measured, period in s, 1 for lock-step, then the safe commands
 * ACCEPT    rig -> loop   values: the first measured values
 * BUSY      rig -> loop   another loop has the rig
 * REFUSE    rig -> loop   the signals or the rate differ; how the rig has them is not told
 * COMMAND   loop -> rig   values: commands
 * MEASURED  rig -> loop   values: measured
 * BYE       either way    the session is over
 * ALIVE     loop -> rig   no values: the loop is there and commands nothing; the rig stays as it is
 *
 * The word of the emergency stop, from the loop: 1 where it gives enables at all, + 2 enabled, + 4 every second time.
 * From the rig: 1 where it has an emergency stop that it tells of, + 2 while that is pressed. So 0, which peers send
 * that know nothing of it, is nothing: their commands are obeyed, and only their own hardware stops them.
 */
#ifndef BL_PACKET_H
#define BL_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "link.h"
#include "siphash.h"

enum { BL_HELLO = 1, BL_ACCEPT, BL_BUSY, BL_REFUSE, BL_COMMAND, BL_MEASURED, BL_BYE, BL_ALIVE };

#define BL_PACKET_MAGIC 0x32504c42u
#define BL_PACKET_VERSION 2
#define BL_PACKET_MODEL 0x4c444f4du /* "MODL": nothing moves at the other end */
enum { BL_WORD_KNOWN = 1, BL_WORD_ENABLE = 2, BL_WORD_BEAT = 4, BL_WORD_PRESSED = 2 };
#define BL_PACKET_TAG 8
#define BL_PACKET_OFFER 4 /* values of a HELLO before the safe commands */
#define BL_PACKET_HEAD 48
#define BL_PACKET_VALUES 170 /* most values: larger packets would be broken up by Ethernet */
#define BL_PACKET_BYTES (BL_PACKET_HEAD + 8*BL_PACKET_VALUES + BL_PACKET_TAG)

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

/* The key of the packets, from the environment (BONDLOOP_KEY, 32 hexadecimal digits; it is removed from there) or 0;
   -1 where that is no key. Not by an argument: everybody on a machine can read those. */
int bl_packet_key(void);
size_t bl_packet_write(unsigned char *bytes, const bl_packet *packet);
/* 0, or -1 if the bytes are no intact packet of somebody with the key. */
int bl_packet_read(const unsigned char *bytes, size_t count, bl_packet *packet);

#endif
