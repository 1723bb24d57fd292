/* Both ends of link_udp.c, one at a time: at the other end is a test. */
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "port.h"

static bl_port_config rig;
static bl_link_config loop;
static bl_link_counts counts;
static double safe[8], period;

static int accepts(double of_loop)
{
    return of_loop == period;
}

/* The port where the rig listens; negative if it cannot. */
int virtual_rig_open(long commands, long measured, uint32_t signature, double of_rig)
{
    rig = (bl_port_config){.address = "127.0.0.1:0", .commands = commands, .measured = measured, .signature = signature,
        .timeout_ns = 1000000000, .safe = safe, .accepts = accepts};
    period = of_rig;
    memset(safe, 0, sizeof safe);
    memset(bl_port_udp.counts, 0, sizeof *bl_port_udp.counts);
    return bl_port_udp.open(&rig) ? -1 : atoi(strrchr(rig.message, ':') + 1);
}

int virtual_rig_receive(double *commands, int64_t wait_ns)
{
    return bl_port_udp.receive(commands, wait_ns);
}

void virtual_rig_answer(int accept, const double *measured, int pressed)
{
    rig.pressed = pressed;
    (accept ? bl_port_udp.accept : bl_port_udp.publish)(measured);
}

int virtual_rig_withdrawn(void)
{
    return rig.withdrawn;
}

int virtual_rig_lock_step(void)
{
    return bl_port_udp.lock_step();
}

const double *virtual_rig_safe(void)
{
    return safe;
}

const bl_link_counts *virtual_rig_counts(void)
{
    return bl_port_udp.counts;
}

void virtual_rig_release(void)
{
    bl_port_udp.release();
}

void virtual_rig_close(void)
{
    bl_port_udp.close();
}

/* Greets a rig at 127.0.0.1 and waits for its answer: the clock stands still. */
int virtual_loop_open(const char *address, long commands, long measured, uint32_t signature, int lock_step, double *first)
{
    static const double at_rest[8] = {0.25, -0.5, 0.75, -1.0};
    loop = (bl_link_config){.address = address, .commands = commands, .measured = measured, .signature = signature,
        .period = 0.002, .lock_step = lock_step, .timeout_ns = 1000000000000, .safe = at_rest};
    memset(&counts, 0, sizeof counts);
    return bl_link_udp.open(&loop, first);
}

int virtual_loop_exchange(const double *commands, double *measured, unsigned enable)
{
    loop.enable = enable;
    return bl_link_udp.exchange(commands, measured, &counts);
}

/* Of the rig, as the loop knows it: 1 emulated, 2 tells of its emergency stop, 4 which is pressed. */
int virtual_loop_rig(void)
{
    return (loop.emulated != 0) + 2*(loop.tells_stop != 0) + 4*(loop.stopped != 0);
}

const char *virtual_loop_message(void)
{
    return loop.message;
}

const bl_link_counts *virtual_loop_counts(void)
{
    return &counts;
}

void virtual_loop_close(void)
{
    bl_link_udp.close();
}
