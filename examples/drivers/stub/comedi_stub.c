/* A board that does not exist, for trying link_comedi.c: two analogue outputs, four inputs, 16 bits, ranges
 * +-10 V (number 0) and +-5 V (number 1). A cable joins input 0 to output 0 and input 1 to output 1; input 2 sees
 * half of output 0, input 3 hangs loose at 1 V. And eight digital lines, of which all inputs are high.
 *
 * The "device" is an ordinary file, which must exist. Every conversion of an output adds a line to it:
 * "CHANNEL RANGE SAMPLE", or "line NUMBER BIT". COMEDI_STUB_FAIL=N in the environment makes all readings fail after
 * the first N, COMEDI_STUB_STOP=N all digital inputs low.
 */
#define _GNU_SOURCE
#include "comedilib.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { INPUTS, OUTPUTS, DIGITAL };
#define STEPS 65535u

struct comedi_t_struct {
    int file, locked;
    long left; /* readings before they fail; -1: never */
    long high; /* readings of digital lines before they are low; -1: never */
    unsigned is_output; /* a bit for each digital line */
    double volts[2];
};

static struct comedi_t_struct board;
static comedi_range ranges[2] = {{-10.0, 10.0, UNIT_volt}, {-5.0, 5.0, UNIT_volt}};

comedi_t *comedi_open(const char *filename)
{
    memset(&board, 0, sizeof board);
    board.file = open(filename, O_WRONLY | O_APPEND);
    const char *fail = getenv("COMEDI_STUB_FAIL");
    board.left = fail == NULL ? -1 : atol(fail);
    const char *stop = getenv("COMEDI_STUB_STOP");
    board.high = stop == NULL ? -1 : atol(stop);
    return board.file < 0 ? NULL : &board;
}

int comedi_close(comedi_t *device)
{
    return close(device->file);
}

int comedi_errno(void)
{
    return errno;
}

const char *comedi_strerror(int number)
{
    return strerror(number);
}

int comedi_find_subdevice_by_type(comedi_t *device, int type, unsigned int start)
{
    (void)device, (void)start;
    return type == COMEDI_SUBD_AO ? OUTPUTS : type == COMEDI_SUBD_AI ? INPUTS : type == COMEDI_SUBD_DIO ? DIGITAL : -1;
}

int comedi_get_n_channels(comedi_t *device, unsigned int subdevice)
{
    (void)device;
    return subdevice == OUTPUTS ? 2 : subdevice == INPUTS ? 4 : 8;
}

int comedi_get_n_ranges(comedi_t *device, unsigned int subdevice, unsigned int channel)
{
    (void)device, (void)subdevice, (void)channel;
    return 2;
}

comedi_range *comedi_get_range(
    comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int range)
{
    (void)device, (void)subdevice, (void)channel;
    return range < 2 ? &ranges[range] : NULL;
}

lsampl_t comedi_get_maxdata(comedi_t *device, unsigned int subdevice, unsigned int channel)
{
    (void)device, (void)subdevice, (void)channel;
    return STEPS;
}

int comedi_lock(comedi_t *device, unsigned int subdevice)
{
    (void)subdevice; /* one lock for both parts: released when the file is closed, also by a crash */
    device->locked = device->locked || flock(device->file, LOCK_EX | LOCK_NB) == 0;
    return device->locked ? 0 : -1;
}

int comedi_data_read(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int range,
    unsigned int aref, lsampl_t *data)
{
    (void)subdevice, (void)aref;
    if (device->left == 0) {
        errno = EIO;
        return -1;
    }
    device->left -= device->left > 0;
    const double seen[4] = {device->volts[0], device->volts[1], 0.5*device->volts[0], 1.0};
    *data = comedi_from_phys(seen[channel], &ranges[range], STEPS);
    return 1;
}

int comedi_data_write(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int range,
    unsigned int aref, lsampl_t data)
{
    (void)subdevice, (void)aref;
    char line[48];
    const int length = snprintf(line, sizeof line, "%u %u %u\n", channel, range, data);
    const double span = ranges[range].max - ranges[range].min;
    device->volts[channel] = ranges[range].min + span*data/STEPS;
    return write(device->file, line, (size_t)length) == length ? 1 : -1;
}

int comedi_dio_config(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int direction)
{
    (void)subdevice;
    device->is_output |= (direction == COMEDI_OUTPUT ? 1u : 0u) << channel;
    return 1;
}

int comedi_dio_read(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int *bit)
{
    (void)subdevice, (void)channel;
    *bit = device->high != 0;
    device->high -= device->high > 0;
    return 1;
}

int comedi_dio_write(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int bit)
{
    (void)subdevice;
    char text[48];
    const int length = snprintf(text, sizeof text, "line %u %u\n", channel, bit);
    return device->is_output >> channel & 1 && write(device->file, text, (size_t)length) == length ? 1 : -1;
}

/* As the library does it: the two ends of the range are no measurements. */
double comedi_to_phys(lsampl_t data, comedi_range *range, lsampl_t maxdata)
{
    return data == 0 || data >= maxdata ? NAN : range->min + (range->max - range->min)*data/maxdata;
}

lsampl_t comedi_from_phys(double data, comedi_range *range, lsampl_t maxdata)
{
    const double share = (data - range->min)/(range->max - range->min);
    return (lsampl_t)lround(maxdata*fmin(fmax(share, 0.0), 1.0));
}
