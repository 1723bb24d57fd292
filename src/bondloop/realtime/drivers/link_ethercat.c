/* A link to EtherCAT terminals through SOEM, the simple open EtherCAT master:
 *
 *   ethercat://INTERFACE           the network interface, eth1, that only the terminals are at
 *
 * In the channels file a channel is SLAVE:BYTE, the slave's number from 1 and the byte in its own inputs or outputs,
 * with the type of the field; a fault likewise, with the bit, and the lines of stop, beat and enable are SLAVE:BYTE.BIT.
 * What a slave maps where is shown by SOEM's `slaveinfo INTERFACE -map`.
 *
 * The process image is exchanged twice in a cycle: inputs are fetched when the loop wakes, with the outputs as they are,
 * and the commands leave when they are computed. The bus stays in SAFE_OP, where outputs are not obeyed, until the first
 * command; and falls back to it by itself where the master is silent: set the watchdogs of the output terminals.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channels.h"
#include "ethercat.h"

#define IMAGE 4096
#define WAIT_US 500 /* for the frame to come round: tens of microseconds are usual */

typedef struct {
    unsigned char *at; /* in the process image */
    int bit;           /* -1: a field */
} spot;

static char image[IMAGE];
static int is_open, commanded, is_operational, expected;
static long grace; /* turns in which slaves may still be on their way to OPERATIONAL */
static bl_link_config *loop;
static spot outs[BL_MOST_CHANNELS], ins[BL_MOST_CHANNELS], faults[BL_MOST_CHANNELS], stop, beat, enable;
static double raw[BL_MOST_CHANNELS];

static int refuse(bl_link_config *config, const char *what, const char *found)
{
    snprintf(config->message, sizeof config->message, "ethercat://%.40s: %.100s%.100s", config->address, what, found);
    return BL_LINK_FAILED;
}

/* Finds SLAVE:BYTE or SLAVE:BYTE.BIT in the image; 0 or an error. Slaves of less than eight bits share a byte of the image:
   the slave's own bit 0 is then another one there, and a field would take in what is its neighbours'. */
static int find(bl_link_config *config, const char *text, int is_output, long bytes, int has_bit, spot *made)
{
    char *end;
    const long slave = strtol(text, &end, 10);
    const int colon = *end == ':';
    const long byte = colon ? strtol(end + 1, &end, 10) : -1;
    long bit = -1;
    if (has_bit)
        bit = *end == '.' ? strtol(end + 1, &end, 10) : -2;
    if (!colon || *end != '\0' || byte < 0 || bit < -1 || bit > 7)
        return refuse(config, has_bit ? "expected SLAVE:BYTE.BIT; found " : "expected SLAVE:BYTE; found ", text);
    if (slave < 1 || slave > ec_slavecount)
        return refuse(config, "there is no such slave on the bus: ", text);
    const ec_slavet *s = &ec_slave[slave];
    unsigned char *begin = is_output ? s->outputs : s->inputs;
    const long bits = is_output ? s->Obits : s->Ibits;
    if (begin == NULL || (has_bit ? 8*byte + bit >= bits : 8*(byte + bytes) > bits + 7))
        return refuse(config, is_output ? "the slave has no such outputs: " : "the slave has no such inputs: ", text);
    if (!has_bit && bits < 8)
        return refuse(config, "the slave has single bits, and no field: say SLAVE:BYTE.BIT, without a type; found ", text);
    const long place = has_bit ? 8*byte + bit + (is_output ? s->Ostartbit : s->Istartbit) : 8*byte;
    *made = (spot){begin + place/8, has_bit ? (int)(place%8) : -1};
    return 0;
}

static int find_all(bl_link_config *config)
{
    const long all = bl_lab.outputs + bl_lab.idles;
    for (long i = 0; i < all + bl_lab.inputs; ++i) {
        const int is_output = i < all;
        const bl_channel *c = is_output ? &bl_lab.output[i] : &bl_lab.input[i - all];
        if (c->type < 0)
            return refuse(config, "a channel needs the type of its field: ", c->name);
        if (find(config, c->at, is_output, bl_field_bytes(c->type), 0, is_output ? &outs[i] : &ins[i - all]))
            return BL_LINK_FAILED;
        if (is_output && bl_field_put(outs[i].at, c->type, 0, bl_channel_raw(c, c->rest)))
            return refuse(config, "the value at rest does not fit into its field: ", c->name);
    }
    if (bl_lab.faults > BL_MOST_CHANNELS)
        return refuse(config, "too many faults", "");
    for (long i = 0; i < bl_lab.faults; ++i) {
        const int has_type = bl_lab.fault[i].type >= 0;
        if (find(config, bl_lab.fault[i].at, 0, has_type ? bl_field_bytes(bl_lab.fault[i].type) : 1, !has_type, &faults[i]))
            return BL_LINK_FAILED;
    }
    stop = beat = enable = (spot){NULL, -1};
    if ((bl_lab.stop != NULL && find(config, bl_lab.stop, 0, 1, 1, &stop))
        || (bl_lab.beat != NULL && find(config, bl_lab.beat, 1, 1, 1, &beat))
        || (bl_lab.enable != NULL && find(config, bl_lab.enable, 1, 1, 1, &enable)))
        return BL_LINK_FAILED;
    config->tells_stop = stop.at != NULL;
    return 0;
}

static void put_bit(spot where, int is_on)
{
    if (where.at == NULL)
        return;
    *where.at = (unsigned char)(is_on ? *where.at | 1u << where.bit : *where.at & ~(1u << where.bit));
}

/* Once round the bus; FRESH where every slave took part, OLD where the frame was lost, else LOST with the fault. */
static int turn(void)
{
    ec_send_processdata();
    const int found = ec_receive_processdata(WAIT_US);
    if (found == EC_NOFRAME)
        return BL_LINK_OLD; /* lost on the way: the executive counts how old the last one gets */
    grace = found >= expected ? 0 : grace - (grace > 0);
    if (found < expected && grace == 0) {
        bl_link_fault(loop, 1, "slaves are missing on the bus: working counter %d of %d", found, expected);
        return BL_LINK_LOST;
    }
    return BL_LINK_FRESH;
}

static int read_all(double *measured)
{
    loop->fault = 0;
    const int came = turn();
    if (came != BL_LINK_FRESH) {
        loop->stopped |= came == BL_LINK_LOST && stop.at != NULL;
        return came;
    }
    loop->stopped = stop.at != NULL && !(*stop.at >> stop.bit & 1);
    for (long i = 0; i < bl_lab.faults; ++i) {
        const bl_fault_source *f = &bl_lab.fault[i];
        const uint32_t word = faults[i].bit >= 0 ? (uint32_t)(*faults[i].at >> faults[i].bit & 1)
                                                 : (uint32_t)(int64_t)bl_field_get(faults[i].at, f->type, 0);
        bl_channels_fault(loop, f, word);
    }
    for (long i = 0; i < bl_lab.inputs; ++i)
        raw[i] = bl_field_get(ins[i].at, bl_lab.input[i].type, 0); /* EtherCAT is little endian */
    bl_channels_measured(raw, measured);
    if (!commanded) {
        double hold[BL_MOST_CHANNELS];
        for (long i = 0; i < bl_lab.outputs + bl_lab.idles; ++i)
            hold[i] = NAN;
        bl_channels_hold(measured, hold);
        for (long i = 0; i < bl_lab.outputs + bl_lab.idles; ++i)
            if (!bl_is_nan(hold[i]))
                (void)bl_field_put(outs[i].at, bl_lab.output[i].type, 0, hold[i]); /* what does not fit leaves rest */
    }
    return BL_LINK_FRESH;
}

/* Into the image; what cannot be is held. */
static int put_commands(const double *commands)
{
    double wanted[BL_MOST_CHANNELS];
    int wrong = bl_channels_commands(loop, commands, wanted);
    for (long i = 0; i < bl_lab.outputs; ++i)
        if (!bl_is_nan(wanted[i]) && bl_field_put(outs[i].at, bl_lab.output[i].type, 0, wanted[i])) {
            bl_link_fault(loop, BL_FAULT_OUTPUT, "%s: %.6g does not fit into its field", bl_lab.output[i].name, wanted[i]);
            wrong = -1;
        }
    return wrong;
}

static int link_open(bl_link_config *config, double *measured)
{
    loop = config;
    commanded = is_operational = 0;
    if (bl_channels_open(config))
        return BL_LINK_FAILED;
    char name[64];
    snprintf(name, sizeof name, "%s", config->address);
    if (!ec_init(name))
        return refuse(config, "the network interface cannot be opened (raw sockets need root or CAP_NET_RAW)", "");
    is_open = 1;
    if (ec_config_init(FALSE) <= 0)
        return refuse(config, "no slave answers on this interface", "");
    const int bytes = ec_config_map(image);
    if (bytes <= 0 || bytes > IMAGE)
        return refuse(config, "the process image is empty, or larger than 4096 bytes", "");
    ec_configdc();
    if (find_all(config))
        return BL_LINK_FAILED;
    if (ec_statecheck(0, EC_STATE_SAFE_OP, (int)(config->timeout_ns/1000)) != EC_STATE_SAFE_OP) {
        ec_readstate();
        char found[96] = "";
        for (int i = 1; i <= ec_slavecount; ++i)
            if (ec_slave[i].state != EC_STATE_SAFE_OP)
                snprintf(found, sizeof found, "slave %d (%.30s): %.40s", i, ec_slave[i].name,
                    ec_ALstatuscode2string(ec_slave[i].ALstatuscode));
        return refuse(config, "not all slaves reach SAFE_OP: ", found);
    }
    expected = ec_group[0].inputsWKC; /* in SAFE_OP outputs do not count */
    grace = 0;
    if (read_all(measured) != BL_LINK_FRESH)
        return refuse(config, "the process data do not come round: ", config->fault_words);
    return BL_LINK_FRESH;
}

/* Outputs are obeyed from the first command on, which is in the image by then. One frame asks for it, and the state is
   looked at in the cycles that follow, without waiting. */
static void become_operational(void)
{
    ec_slave[0].state = EC_STATE_OPERATIONAL;
    ec_writestate(0);
    is_operational = 1;
    grace = (long)(1e-9*(double)loop->timeout_ns/loop->period) + 10;
    expected = ec_group[0].outputsWKC*2 + ec_group[0].inputsWKC;
}

static int link_exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    int wrong = 0;
    if (commands != NULL || measured == NULL) {
        put_bit(beat, (loop->enable & BL_BEAT) != 0);
        put_bit(enable, (loop->enable & BL_ENABLE) != 0);
    }
    if (commands != NULL) {
        wrong = put_commands(commands);
        if (!commanded && wrong)
            return BL_LINK_LOST; /* nothing has ever been put out, and it stays so */
        commanded = 1;
        counts->sent += 1;
        if (!is_operational)
            become_operational();
        if (turn() == BL_LINK_LOST)
            wrong = -1;
    }
    if (wrong)
        return BL_LINK_LOST;
    if (measured == NULL)
        return BL_LINK_OLD;
    const int came = read_all(measured);
    counts->received += came == BL_LINK_FRESH;
    counts->lost += came == BL_LINK_OLD;
    return came;
}

static void link_close(void)
{
    if (!is_open)
        return;
    if (commanded) {
        put_bit(beat, 0);
        put_bit(enable, 0);
        if (!loop->halted)
            (void)put_commands(loop->safe);
        (void)turn();
    }
    ec_slave[0].state = EC_STATE_INIT;
    ec_writestate(0);
    ec_close();
    is_open = commanded = 0;
}

const bl_link bl_link_ethercat = {"ethercat", BL_LINK_REAL_TIME | BL_LINK_EXCLUSIVE, link_open, link_exchange, link_close};
