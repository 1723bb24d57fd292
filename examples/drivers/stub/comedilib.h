/* Stands in for the header of comedilib where the library is not installed: the few names that link_comedi.c
 * uses, with the library's own signatures. See comedi_stub.c. */
#ifndef STUB_COMEDILIB_H
#define STUB_COMEDILIB_H

typedef struct comedi_t_struct comedi_t;
typedef unsigned int lsampl_t;
typedef struct {
    double min, max;
    unsigned int unit;
} comedi_range;

enum { COMEDI_SUBD_AI = 1, COMEDI_SUBD_AO = 2, COMEDI_SUBD_DIO = 5 };
enum { COMEDI_INPUT, COMEDI_OUTPUT };
#define AREF_GROUND 0
#define UNIT_volt 0

comedi_t *comedi_open(const char *filename);
int comedi_close(comedi_t *device);
int comedi_errno(void);
const char *comedi_strerror(int number);
int comedi_find_subdevice_by_type(comedi_t *device, int type, unsigned int start);
int comedi_get_n_channels(comedi_t *device, unsigned int subdevice);
int comedi_get_n_ranges(comedi_t *device, unsigned int subdevice, unsigned int channel);
comedi_range *comedi_get_range(
    comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int range);
lsampl_t comedi_get_maxdata(comedi_t *device, unsigned int subdevice, unsigned int channel);
int comedi_lock(comedi_t *device, unsigned int subdevice);
int comedi_data_read(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int range,
    unsigned int aref, lsampl_t *data);
int comedi_data_write(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int range,
    unsigned int aref, lsampl_t data);
int comedi_dio_config(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int direction);
int comedi_dio_read(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int *bit);
int comedi_dio_write(comedi_t *device, unsigned int subdevice, unsigned int channel, unsigned int bit);
double comedi_to_phys(lsampl_t data, comedi_range *range, lsampl_t maxdata);
lsampl_t comedi_from_phys(double data, comedi_range *range, lsampl_t maxdata);

#endif
