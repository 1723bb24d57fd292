/* The functions of FMI 3.0 for co-simulation and model exchange; what they do is in fmu.c. */
#include <stdlib.h>
#include <string.h>

#include "fmi3Functions.h"
#include "fmu.h"

#define UNUSED(x) (void)(x)

static void log_message(const bl_instance *instance, int status, const char *message)
{
    const fmi3LogMessageCallback logger = (fmi3LogMessageCallback)instance->callback;
    if (logger != NULL)
        logger(instance->environment, (fmi3Status)status, "logStatusError", message);
}

static fmi3Status no(fmi3Instance instance, const char *what)
{
    return bl_refuse(instance, BL_ERROR, "this FMU has no %s", what);
}

const char *fmi3GetVersion(void)
{
    return fmi3Version;
}

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean on, size_t n, const fmi3String categories[])
{
    UNUSED(instance), UNUSED(on), UNUSED(n), UNUSED(categories);
    return fmi3OK;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback message)
{
    UNUSED(visible), UNUSED(logging);
    if (bl_definition.period > 0)
        return NULL;
    return bl_make(name, token, resources, log_message, environment, (void (*)(void))message);
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3Boolean events, fmi3Boolean early, const fmi3ValueReference required[], size_t count,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback message, fmi3IntermediateUpdateCallback update)
{
    UNUSED(visible), UNUSED(logging), UNUSED(events), UNUSED(early), UNUSED(required), UNUSED(count), UNUSED(update);
    if (!(bl_definition.period > 0))
        return NULL;
    return bl_make(name, token, resources, log_message, environment, (void (*)(void))message);
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String name, fmi3String token, fmi3String resources,
    fmi3Boolean visible, fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback message,
    fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    UNUSED(name), UNUSED(token), UNUSED(resources), UNUSED(visible), UNUSED(logging), UNUSED(environment);
    UNUSED(message), UNUSED(clock), UNUSED(lock), UNUSED(unlock);
    return NULL;
}

void fmi3FreeInstance(fmi3Instance instance)
{
    bl_free(instance);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean with, fmi3Float64 tolerance, fmi3Float64 start,
    fmi3Boolean ends, fmi3Float64 stop)
{
    UNUSED(with), UNUSED(tolerance), UNUSED(ends), UNUSED(stop);
    return bl_start(instance, start);
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    ((bl_instance *)instance)->running = 1;
    return bl_evaluate(instance);
}

fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    UNUSED(instance);
    return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance instance)
{
    UNUSED(instance);
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance instance)
{
    bl_reset(instance);
    return fmi3OK;
}

fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    fmi3Float64 values[], size_t n)
{
    return n == count ? bl_get(instance, references, count, values)
                      : bl_refuse(instance, BL_ERROR, "there is one value for each variable; found %zu for %zu", n, count);
}

fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const fmi3Float64 values[], size_t n)
{
    return n == count ? bl_set(instance, references, count, values)
                      : bl_refuse(instance, BL_ERROR, "there is one value for each variable; found %zu for %zu", n, count);
}

#define NONE(Type) \
    fmi3Status fmi3Get##Type(fmi3Instance instance, const fmi3ValueReference references[], size_t count, \
        fmi3##Type values[], size_t n) \
    { \
        UNUSED(references), UNUSED(values), UNUSED(n); \
        return count == 0 ? fmi3OK : no(instance, "variables of another type than Float64"); \
    } \
    fmi3Status fmi3Set##Type(fmi3Instance instance, const fmi3ValueReference references[], size_t count, \
        const fmi3##Type values[], size_t n) \
    { \
        UNUSED(references), UNUSED(values), UNUSED(n); \
        return count == 0 ? fmi3OK : no(instance, "variables of another type than Float64"); \
    }
NONE(Float32)
NONE(Int8)
NONE(UInt8)
NONE(Int16)
NONE(UInt16)
NONE(Int32)
NONE(UInt32)
NONE(Int64)
NONE(UInt64)
NONE(Boolean)
NONE(String)

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference references[], size_t count, size_t sizes[],
    fmi3Binary values[], size_t n)
{
    UNUSED(references), UNUSED(sizes), UNUSED(values), UNUSED(n);
    return count == 0 ? fmi3OK : no(instance, "variables of another type than Float64");
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const size_t sizes[], const fmi3Binary values[], size_t n)
{
    UNUSED(references), UNUSED(sizes), UNUSED(values), UNUSED(n);
    return count == 0 ? fmi3OK : no(instance, "variables of another type than Float64");
}

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference references[], size_t count, fmi3Clock values[])
{
    UNUSED(references), UNUSED(values);
    return count == 0 ? fmi3OK : no(instance, "clocks");
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const fmi3Clock values[])
{
    UNUSED(references), UNUSED(values);
    return count == 0 ? fmi3OK : no(instance, "clocks");
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference reference, size_t *count)
{
    UNUSED(reference), UNUSED(count);
    return no(instance, "dependencies that change");
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent, size_t elements[],
    fmi3ValueReference independents[], size_t others[], fmi3DependencyKind kinds[], size_t count)
{
    UNUSED(dependent), UNUSED(elements), UNUSED(independents), UNUSED(others), UNUSED(kinds), UNUSED(count);
    return no(instance, "dependencies that change");
}

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    *state = bl_snapshot(instance, *state);
    return *state == NULL ? fmi3Error : fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state)
{
    bl_restore(instance, state);
    return fmi3OK;
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state)
{
    UNUSED(instance);
    if (state != NULL) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size)
{
    UNUSED(instance), UNUSED(state);
    *size = bl_serialised(&bl_definition);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    return bl_serialise(instance, state, bytes, size);
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte bytes[], size_t size, fmi3FMUState *state)
{
    fmi3FMUState made = bl_deserialise(instance, bytes, size, *state);
    if (made == NULL)
        return fmi3Error;
    *state = made;
    return fmi3OK;
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t unknown_count,
    const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[], size_t n, fmi3Float64 sensitivity[],
    size_t m)
{
    if (n != known_count || m != unknown_count)
        return bl_refuse(instance, BL_ERROR, "there is one seed for each known and one sensitivity for each unknown");
    return bl_slopes(instance, unknowns, unknown_count, knowns, known_count, seed, sensitivity);
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t unknown_count,
    const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[], size_t n, fmi3Float64 sensitivity[],
    size_t m)
{
    UNUSED(unknowns), UNUSED(unknown_count), UNUSED(knowns), UNUSED(known_count), UNUSED(seed), UNUSED(n);
    UNUSED(sensitivity), UNUSED(m);
    return no(instance, "adjoint derivatives");
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance)
{
    return no(instance, "structural parameters");
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance)
{
    return no(instance, "structural parameters");
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[])
{
    UNUSED(references), UNUSED(count), UNUSED(intervals), UNUSED(qualifiers);
    return no(instance, "clocks");
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    fmi3UInt64 counters[], fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
{
    UNUSED(references), UNUSED(count), UNUSED(counters), UNUSED(resolutions), UNUSED(qualifiers);
    return no(instance, "clocks");
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    fmi3Float64 shifts[])
{
    UNUSED(references), UNUSED(count), UNUSED(shifts);
    return no(instance, "clocks");
}

fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    fmi3UInt64 counters[], fmi3UInt64 resolutions[])
{
    UNUSED(references), UNUSED(count), UNUSED(counters), UNUSED(resolutions);
    return no(instance, "clocks");
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const fmi3Float64 intervals[])
{
    UNUSED(references), UNUSED(count), UNUSED(intervals);
    return no(instance, "clocks");
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    UNUSED(references), UNUSED(count), UNUSED(counters), UNUSED(resolutions);
    return no(instance, "clocks");
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const fmi3Float64 shifts[])
{
    UNUSED(references), UNUSED(count), UNUSED(shifts);
    return no(instance, "clocks");
}

fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    UNUSED(references), UNUSED(count), UNUSED(counters), UNUSED(resolutions);
    return no(instance, "clocks");
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance)
{
    UNUSED(instance);
    return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate,
    fmi3Boolean *nominals, fmi3Boolean *values, fmi3Boolean *defined, fmi3Float64 *next)
{
    UNUSED(instance);
    *again = *terminate = *nominals = *values = *defined = fmi3False;
    *next = 0.0;
    return fmi3OK;
}

/* Model exchange */

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    UNUSED(instance);
    return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean no_set, fmi3Boolean *event,
    fmi3Boolean *terminate)
{
    UNUSED(no_set);
    *event = *terminate = fmi3False;
    return bl_accept(instance);
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    return bl_set_time(instance, time);
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 states[], size_t count)
{
    return bl_set_states(instance, states, count);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 rates[], size_t count)
{
    return bl_rates(instance, rates, count);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 indicators[], size_t count)
{
    UNUSED(indicators);
    return count == 0 ? fmi3OK : no(instance, "event indicators");
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 states[], size_t count)
{
    return bl_get_states(instance, states, count);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t count)
{
    UNUSED(instance);
    for (size_t i = 0; i < count; ++i)
        nominals[i] = 1.0;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *count)
{
    UNUSED(instance);
    *count = 0;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *count)
{
    UNUSED(instance);
    *count = bl_definition.period > 0 ? 0 : (size_t)bl_definition.states;
    return fmi3OK;
}

/* Co-simulation */

fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    UNUSED(instance);
    return fmi3OK;
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const fmi3Int32 orders[], fmi3Float64 values[], size_t n)
{
    UNUSED(references), UNUSED(orders), UNUSED(values), UNUSED(n);
    return count == 0 ? fmi3OK : no(instance, "derivatives of outputs");
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 time, fmi3Float64 size, fmi3Boolean no_set, fmi3Boolean *event,
    fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *last)
{
    UNUSED(no_set);
    *event = *terminate = *early = fmi3False;
    const int status = bl_step(instance, time, size);
    *last = *((bl_instance *)instance)->time;
    return status;
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 time)
{
    UNUSED(clock), UNUSED(time);
    return no(instance, "clocks");
}
