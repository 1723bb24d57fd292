/* An instance of an FMU: a generated tick with its memory. `fmi2.c` and `fmi3.c` put the functions of the standard
 * on top; Python writes one `definition.c` with the table below. All other files are the same for every FMU.
 *
 * Co-simulation: the outputs at t = k*period are what tick k shows, and a step is what tick k leaves behind. So a
 * tick is executed on a copy when an output is asked for, and a step takes that copy over if no input has changed
 * since. Model exchange: the channels are the rates of the states, then the outputs; nothing is left behind.
 */
#ifndef BL_FMU_H
#define BL_FMU_H

#include <stddef.h>

/* Executes one tick in place and returns status bits: 0, or why its values cannot be trusted. */
typedef int (*bl_tick_once)(double *state, const double *parameters, const double *in, double t, double k,
    double *channels);

typedef struct {
    const char *name, *token; /* the token is the GUID of FMI 2 */
    double period;            /* s; 0 in model exchange */
    bl_tick_once tick_once;
    long size;       /* doubles of the state: those with a name first, then delay lines and the like */
    long states;     /* that have a name; in model exchange the continuous ones */
    long tables;     /* tabulated signals: the first so many inputs of the tick */
    long rows;       /* ticks for which they are tabulated, in resources/signals.f64 */
    long inputs;     /* of the FMU: the inputs of the tick that are not tabulated */
    long parameters, channels;
    const double *initial, *input_values, *parameter_values; /* [size], [inputs], [parameters] */
    const double *least, *most;                              /* [parameters] */
    const double *bound;                                     /* [channels] largest allowed magnitude */
    const char *const *input_names, *const *channel_names, *const *parameter_names;
    /* Directional derivatives in model exchange: its inputs are the inputs, their seeds and those of the states; its
       channels the slopes of the channels above. NULL where there are none. */
    bl_tick_once tangent_once;
    long tangent_size;
    const double *tangent_initial;
} bl_fmu;

extern const bl_fmu bl_definition;

/* Value references: 0 is the time, then inputs, channels, parameters, states follow, each in their order. */

enum { BL_OK = 0, BL_DISCARD = 2, BL_ERROR = 3 }; /* as the standard numbers them */

typedef struct bl_instance bl_instance;
typedef void (*bl_logger)(const bl_instance *instance, int status, const char *message);

struct bl_instance {
    const bl_fmu *fmu;
    char *name;
    bl_logger log;
    void *environment;       /* of the importer, for its logger */
    void (*callback)(void);  /* its logger; whoever knows the version knows the type */
    double *saved;           /* [bl_saved()]: all that the next tick depends on, in one piece */
    double *k, *time, *state, *in, *parameters; /* parts of it */
    double *next, *channels, *table, *seeds, *slopes, *tangent;
    int fresh;   /* next and channels belong to the values in `saved` */
    int status;  /* bits of the last tick */
    int running; /* initialised */
};

bl_instance *bl_make(const char *name, const char *token, const char *resources, bl_logger log,
    void *environment, void (*callback)(void));
void bl_free(bl_instance *instance);
int bl_start(bl_instance *instance, double time);
void bl_reset(bl_instance *instance);
int bl_evaluate(bl_instance *instance);
int bl_get(bl_instance *instance, const unsigned *references, size_t count, double *values);
int bl_set(bl_instance *instance, const unsigned *references, size_t count, const double *values);
int bl_step(bl_instance *instance, double time, double size);
int bl_slopes(bl_instance *instance, const unsigned *unknown, size_t unknowns, const unsigned *known, size_t knowns,
    const double *seed, double *sensitivity);
/* Model exchange: the time and the continuous states come from outside. */
int bl_set_time(bl_instance *instance, double time);
int bl_set_states(bl_instance *instance, const double *states, size_t count);
int bl_get_states(bl_instance *instance, double *states, size_t count);
int bl_rates(bl_instance *instance, double *rates, size_t count);
int bl_accept(bl_instance *instance);

int bl_refuse(const bl_instance *instance, int status, const char *format, ...);

/* Doubles of a snapshot, and a snapshot as bytes that say which FMU they belong to. */
size_t bl_saved(const bl_fmu *fmu);
void *bl_snapshot(const bl_instance *instance, void *snapshot);
void bl_restore(bl_instance *instance, const void *snapshot);
size_t bl_serialised(const bl_fmu *fmu);
int bl_serialise(const bl_instance *instance, const void *snapshot, void *bytes, size_t size);
void *bl_deserialise(const bl_instance *instance, const void *bytes, size_t size, void *snapshot);

#endif
