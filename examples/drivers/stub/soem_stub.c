/* A bus that does not exist, for trying link_ethercat.c: slave 1 has eight bytes of outputs, slave 2 eight of inputs.
 * Slaves 3 and 4 have four bits of inputs each, in one byte of the image; those of 3 are high, those of 4 low.
 * The first four bytes of the inputs are those of the outputs, one turn late, once the bus is operational, which takes
 * three turns; then come the number 1000 as int16 and two bytes of digital inputs, all high.
 *
 * At the interface "none" there is no card, at "empty" there is no slave, at "stuck" one does not reach SAFE_OP. The
 * file that SOEM_STUB names gets a line "STATE BYTE BYTE..." of the outputs for every turn. SOEM_STUB_MISSING=N: after N
 * turns slave 2 does not answer; SOEM_STUB_LOW=N: after N turns all digital inputs are low; SOEM_STUB_LOST=N: after N
 * turns no frame comes back.
 */
#include "ethercat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ec_slavet ec_slave[5];
ec_groupt ec_group[1];
int ec_slavecount;

static const char *interface_name = "";
static uint8 seen[8];
static long turns, operational;

static int since(const char *word)
{
    const char *text = getenv(word);
    return text != NULL && turns > atol(text);
}

int ec_init(const char *interface)
{
    interface_name = strcmp(interface, "empty") == 0 ? "empty" : strcmp(interface, "stuck") == 0 ? "stuck" : "bus";
    return strcmp(interface, "none") != 0;
}

void ec_close(void)
{
    const char *path = getenv("SOEM_STUB");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        fputs("closed\n", file);
        fclose(file);
    }
}

int ec_config_init(uint8 use_table)
{
    (void)use_table;
    ec_slavecount = strcmp(interface_name, "empty") == 0 ? 0 : 4;
    return ec_slavecount;
}

int ec_config_map(void *image)
{
    ec_slave[1] = (ec_slavet){.Obits = 64, .outputs = image, .state = EC_STATE_SAFE_OP, .name = "outputs"};
    ec_slave[2] = (ec_slavet){.Ibits = 64, .inputs = (uint8 *)image + 8, .state = EC_STATE_SAFE_OP, .name = "inputs"};
    ec_slave[3] = (ec_slavet){.Ibits = 4, .inputs = (uint8 *)image + 16, .state = EC_STATE_SAFE_OP, .name = "high"};
    ec_slave[4] = (ec_slavet){.Ibits = 4, .inputs = (uint8 *)image + 16, .Istartbit = 4, .state = EC_STATE_SAFE_OP,
        .name = "low"};
    memset(image, 0, 17);
    ec_group[0] = (ec_groupt){.outputsWKC = 1, .inputsWKC = 1};
    return 17;
}

boolean ec_configdc(void) { return TRUE; }

uint16 ec_statecheck(uint16 slave, uint16 state, int timeout_us)
{
    (void)slave, (void)timeout_us;
    if (strcmp(interface_name, "stuck") != 0)
        return state;
    ec_slave[2].state = 2;
    ec_slave[2].ALstatuscode = 0x1b;
    return 2;
}

int ec_readstate(void) { return 0; }

int ec_writestate(uint16 slave)
{
    (void)slave;
    operational = ec_slave[0].state == EC_STATE_OPERATIONAL ? turns + 3 : 0;
    return 1;
}

int ec_send_processdata(void)
{
    turns += 1;
    return 1;
}

int ec_receive_processdata(int timeout_us)
{
    (void)timeout_us;
    const int obeyed = operational > 0 && turns > operational;
    uint8 *inputs = ec_slave[2].inputs;
    const char *path = getenv("SOEM_STUB");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    if (file != NULL) {
        fprintf(file, "%d", obeyed ? 8 : 4);
        for (int i = 0; i < 8; ++i)
            fprintf(file, " %d", ec_slave[1].outputs[i]);
        fputc('\n', file);
        fclose(file);
    }
    if (since("SOEM_STUB_LOST"))
        return EC_NOFRAME;
    memcpy(inputs, seen, 4);
    inputs[8] = 0x0f;
    inputs[4] = 0xe8;
    inputs[5] = 0x03;
    inputs[6] = inputs[7] = since("SOEM_STUB_LOW") ? 0 : 255;
    if (obeyed)
        memcpy(seen, ec_slave[1].outputs, 8);
    return (obeyed ? 2 : 0) + (since("SOEM_STUB_MISSING") ? 0 : 1);
}

char *ec_ALstatuscode2string(uint16 code)
{
    static char watchdog[] = "Sync manager watchdog", unknown[] = "unknown";
    return code == 0x1b ? watchdog : unknown;
}
