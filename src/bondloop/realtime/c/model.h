/* An emulated rig: the rig's tick with its state. */
#ifndef BL_MODEL_H
#define BL_MODEL_H

#include "interface.h"

typedef struct {
    const bl_interface *tick;
    int64_t k; /* ticks since the beginning */
    double *state, *copy, *in, *channels;
} bl_model;

int bl_model_make(bl_model *model, const bl_interface *tick); /* 0, or -1 without memory */
void bl_model_reset(bl_model *model);
/* What the sensors show now: a tick executed on a copy of the state. */
int bl_model_measure(bl_model *model, double *measured);
/* One tick with these commands. Both return the tick's status. */
int bl_model_advance(bl_model *model, const double *commands);
/* Ticks of the rig in one period of the loop; 0 if that is no whole number. */
long bl_model_ratio(const bl_interface *tick, double period);

#endif
