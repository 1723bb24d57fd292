/* Stands in for the header of SOEM 1.4 where it is not installed: the few names that link_ethercat.c needs.
 * soem_stub.c is a bus behind it that does not exist.
 */
#ifndef SOEM_STUB_H
#define SOEM_STUB_H

#include <stdint.h>

typedef uint8_t uint8, boolean;
typedef uint16_t uint16;
typedef int32_t int32;
typedef uint32_t uint32;

#define TRUE 1
#define FALSE 0
#define EC_NOFRAME -1
enum { EC_STATE_INIT = 1, EC_STATE_SAFE_OP = 4, EC_STATE_OPERATIONAL = 8 };

typedef struct {
    uint16 state, ALstatuscode, Obits, Ibits;
    uint8 *outputs, *inputs;
    uint8 Ostartbit, Istartbit; /* in the first byte: slaves of less than eight bits share one */
    char name[41];
} ec_slavet;

typedef struct {
    uint16 outputsWKC, inputsWKC;
} ec_groupt;

extern ec_slavet ec_slave[];
extern ec_groupt ec_group[];
extern int ec_slavecount;

int ec_init(const char *interface);
void ec_close(void);
int ec_config_init(uint8 use_table);
int ec_config_map(void *image);
boolean ec_configdc(void);
uint16 ec_statecheck(uint16 slave, uint16 state, int timeout_us);
int ec_readstate(void);
int ec_writestate(uint16 slave);
int ec_send_processdata(void);
int ec_receive_processdata(int timeout_us);
char *ec_ALstatuscode2string(uint16 code);

#endif
