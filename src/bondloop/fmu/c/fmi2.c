/* The functions of FMI 2.0 for co-simulation and model exchange; what they do is in fmu.c. */
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "fmu.h"

static void log_message(const bl_instance *instance, int status, const char *message)
{
    const fmi2CallbackLogger logger = (fmi2CallbackLogger)instance->callback;
    if (logger != NULL)
        logger(instance->environment, instance->name, (fmi2Status)status, "logStatusError", "%s", message);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The path of a file: URI, percent signs decoded. */
static char *path_of(const char *uri)
{
    const char *from = uri == NULL ? "" : uri;
    if (strncmp(from, "file://", 7) == 0) {
        from += 7;
        if (strncmp(from, "localhost/", 10) == 0)
            from += 9;
    } else if (strncmp(from, "file:", 5) == 0)
        from += 5;
    if (from[0] == '/' && from[1] != '\0' && from[2] == ':')
        from += 1; /* /C:/... */
    char *path = malloc(strlen(from) + 1), *to = path;
    if (path == NULL)
        return NULL;
    for (; *from != '\0'; ++from) {
        if (*from == '%' && digit(from[1]) >= 0 && digit(from[2]) >= 0) {
            *to++ = (char)(16*digit(from[1]) + digit(from[2]));
            from += 2;
        } else
            *to++ = *from;
    }
    *to = '\0';
    return path;
}

const char *fmi2GetTypesPlatform(void)
{
    return fmi2TypesPlatform;
}

const char *fmi2GetVersion(void)
{
    return fmi2Version;
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)c, (void)on, (void)n, (void)categories;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String location,
    const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)visible, (void)logging;
    if ((type == fmi2CoSimulation) != (bl_definition.period > 0))
        return NULL;
    char *path = path_of(location);
    bl_instance *instance = bl_make(name, guid, path, log_message, functions ? functions->componentEnvironment : NULL,
        functions ? (void (*)(void))functions->logger : NULL);
    free(path);
    return instance;
}

void fmi2FreeInstance(fmi2Component c)
{
    bl_free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean with, fmi2Real tolerance, fmi2Real start,
    fmi2Boolean ends, fmi2Real stop)
{
    (void)with, (void)tolerance, (void)ends, (void)stop;
    return bl_start(c, start);
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ((bl_instance *)c)->running = 1;
    return bl_evaluate(c);
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    bl_reset(c);
    return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    return bl_get(c, vr, nvr, value);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[])
{
    return bl_set(c, vr, nvr, value);
}

#define NONE(Type) \
    fmi2Status fmi2Get##Type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2##Type value[]) \
    { \
        (void)vr, (void)value; \
        return nvr == 0 ? fmi2OK : bl_refuse(c, BL_ERROR, "all variables are of the type Real"); \
    } \
    fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2##Type value[]) \
    { \
        (void)vr, (void)value; \
        return nvr == 0 ? fmi2OK : bl_refuse(c, BL_ERROR, "all variables are of the type Real"); \
    }
NONE(Integer)
NONE(Boolean)
NONE(String)

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    *state = bl_snapshot(c, *state);
    return *state == NULL ? fmi2Error : fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    bl_restore(c, state);
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    if (state != NULL) {
        free(*state);
        *state = NULL;
    }
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    (void)c, (void)state;
    *size = bl_serialised(&bl_definition);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    return bl_serialise(c, state, bytes, size);
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    fmi2FMUstate made = bl_deserialise(c, bytes, size, *state);
    if (made == NULL)
        return fmi2Error;
    *state = made;
    return fmi2OK;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[], size_t unknowns,
    const fmi2ValueReference known[], size_t knowns, const fmi2Real seed[], fmi2Real sensitivity[])
{
    return bl_slopes(c, unknown, unknowns, known, knowns, seed, sensitivity);
}

/* Model exchange */

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    (void)c;
    memset(info, 0, sizeof *info);
    return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean no_set, fmi2Boolean *event, fmi2Boolean *terminate)
{
    (void)no_set;
    *event = *terminate = fmi2False;
    return bl_accept(c);
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    return bl_set_time(c, time);
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx)
{
    return bl_set_states(c, x, nx);
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx)
{
    return bl_rates(c, derivatives, nx);
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real indicators[], size_t ni)
{
    (void)indicators;
    return ni == 0 ? fmi2OK : bl_refuse(c, BL_ERROR, "this FMU has no event indicators");
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx)
{
    return bl_get_states(c, x, nx);
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominal[], size_t nx)
{
    (void)c;
    for (size_t i = 0; i < nx; ++i)
        nominal[i] = 1.0;
    return fmi2OK;
}

/* Co-simulation */

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real size, fmi2Boolean no_set)
{
    (void)no_set;
    return bl_step(c, time, size);
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    return bl_refuse(c, BL_ERROR, "steps are complete when they return; there is nothing to cancel");
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
    const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr, (void)order, (void)value;
    return nvr == 0 ? fmi2OK : bl_refuse(c, BL_ERROR, "inputs are held during a step: derivatives of inputs are not used");
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
    const fmi2Integer order[], fmi2Real value[])
{
    (void)vr, (void)order, (void)value;
    return nvr == 0 ? fmi2OK : bl_refuse(c, BL_ERROR, "derivatives of outputs are not known");
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind, (void)value;
    return bl_refuse(c, BL_DISCARD, "steps are complete when they return: there is no status to ask for");
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    if (kind != fmi2LastSuccessfulTime)
        return bl_refuse(c, BL_DISCARD, "the last successful time is all there is to ask for");
    *value = *((bl_instance *)c)->time;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)kind, (void)value;
    return bl_refuse(c, BL_DISCARD, "there is no status to ask for");
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    if (kind != fmi2Terminated)
        return bl_refuse(c, BL_DISCARD, "there is no status to ask for");
    *value = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)kind, (void)value;
    return bl_refuse(c, BL_DISCARD, "there is no status to ask for");
}
