/* Runs an FMU (FMI 2.0 or 3.0, co-simulation): loaded from its binary, set, stepped and read once a period. Python
 * puts this text, behind the constants that say which FMU it is, into a link (`link_fmu.c`) or into the file of a tick.
 * What the standard fixes is declared here, as far as it is needed.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *host_instance;

/* FMI 2: types of the functions that are used, and the callbacks that an FMU gets. */
typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} host_callbacks;
typedef host_instance (*host_instantiate2)(const char *, int, const char *, const char *, const host_callbacks *, int, int);
typedef int (*host_setup2)(host_instance, int, double, double, int, double);
typedef int (*host_plain)(host_instance);
typedef int (*host_get2)(host_instance, const unsigned *, size_t, double *);
typedef int (*host_set2)(host_instance, const unsigned *, size_t, const double *);
typedef int (*host_step2)(host_instance, double, double, int);
typedef void (*host_free)(host_instance);

/* FMI 3 */
typedef void (*host_log3)(void *, int, const char *, const char *);
typedef host_instance (*host_instantiate3)(const char *, const char *, const char *, bool, bool, bool, bool,
    const unsigned *, size_t, void *, host_log3, void (*)(void));
typedef int (*host_enter3)(host_instance, bool, double, double, bool, double);
typedef int (*host_get3)(host_instance, const unsigned *, size_t, double *, size_t);
typedef int (*host_set3)(host_instance, const unsigned *, size_t, const double *, size_t);
typedef int (*host_step3)(host_instance, double, double, bool, bool *, bool *, bool *, double *);

static struct {
    void *library;
    host_instance instance;
    long k;
    int failed;
    char said[256];    /* by the FMU itself, last */
    char message[512]; /* what is wrong */
    host_callbacks callbacks;
    host_setup2 setup2;
    host_enter3 enter3;
    host_plain enter2, leave, reset, terminate;
    host_get2 get2;
    host_set2 set2;
    host_step2 step2;
    host_get3 get3;
    host_set3 set3;
    host_step3 step3;
    host_free release;
} host;

static void host_hear(const char *message)
{
    snprintf(host.said, sizeof host.said, "%s", message == NULL ? "" : message);
}

static void host_logger2(void *environment, const char *name, int status, const char *category, const char *format, ...)
{
    (void)environment, (void)name, (void)category;
    if (status <= 0 || format == NULL)
        return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    host_hear(text);
}

static void host_logger3(void *environment, int status, const char *category, const char *message)
{
    (void)environment, (void)category;
    if (status > 0)
        host_hear(message);
}

static int host_fail(const char *what)
{
    snprintf(host.message, sizeof host.message, "%s: %s%s%s", HOST_NAME, what, host.said[0] ? "; it says: " : "", host.said);
    host.failed = 1;
    return -1;
}

static void *host_find(const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "fmi%d%s", HOST_VERSION, name);
    void *found = dlsym(host.library, text);
    if (found == NULL && !host.failed) {
        char what[192];
        snprintf(what, sizeof what, "its binary has no function %s", text);
        host_fail(what);
    }
    return found;
}

/* A function pointer out of an object pointer, as POSIX has it. */
#define HOST_FIND(member, name) \
    do { \
        void *found = host_find(name); \
        memcpy(&host.member, &found, sizeof found); \
    } while (0)

static int host_load(void)
{
    host.library = dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (host.library == NULL) {
        host_hear(dlerror());
        return host_fail("its binary cannot be loaded");
    }
    HOST_FIND(leave, "ExitInitializationMode");
    HOST_FIND(reset, "Reset");
    HOST_FIND(terminate, "Terminate");
    HOST_FIND(release, "FreeInstance");
    host_instantiate2 instantiate2 = NULL;
    host_instantiate3 instantiate3 = NULL;
    void *found = host_find(HOST_VERSION == 2 ? "Instantiate" : "InstantiateCoSimulation");
    if (HOST_VERSION == 2) {
        memcpy(&instantiate2, &found, sizeof found);
        HOST_FIND(setup2, "SetupExperiment");
        HOST_FIND(enter2, "EnterInitializationMode");
        HOST_FIND(get2, "GetReal");
        HOST_FIND(set2, "SetReal");
        HOST_FIND(step2, "DoStep");
    } else {
        memcpy(&instantiate3, &found, sizeof found);
        HOST_FIND(enter3, "EnterInitializationMode");
        HOST_FIND(get3, "GetFloat64");
        HOST_FIND(set3, "SetFloat64");
        HOST_FIND(step3, "DoStep");
    }
    if (host.failed)
        return -1;
    host.callbacks = (host_callbacks){host_logger2, calloc, free, NULL, NULL};
    host.instance = HOST_VERSION == 2
        ? instantiate2("bondloop", 1, HOST_TOKEN, HOST_RESOURCES, &host.callbacks, 0, 0)
        : instantiate3("bondloop", HOST_TOKEN, HOST_RESOURCES, false, false, false, false, NULL, 0, NULL, host_logger3, NULL);
    return host.instance != NULL ? 0 : host_fail("it cannot be instantiated");
}

static int host_set(const unsigned *references, size_t count, const double *values)
{
    if (count == 0)
        return 0;
    const int status = HOST_VERSION == 2 ? host.set2(host.instance, references, count, values)
                                         : host.set3(host.instance, references, count, values, count);
    return status > 1 ? host_fail("a value cannot be set") : 0;
}

/* Goes (back) to t = 0. */
static int host_begin(void)
{
    const int fresh = host.instance == NULL;
    host.failed = 0;
    host.said[0] = host.message[0] = '\0';
    host.k = 0;
    if (fresh ? host_load() : host.reset(host.instance) > 1 && host_fail("it cannot be reset"))
        return -1;
    if (host_set(host_parameters, HOST_PARAMETERS, host_values))
        return -1;
    int bad = HOST_VERSION == 2 ? host.setup2(host.instance, 0, 0.0, 0.0, 0, 0.0) > 1 || host.enter2(host.instance) > 1
                                : host.enter3(host.instance, false, 0.0, 0.0, false, 0.0) > 1;
    bad = bad || host.leave(host.instance) > 1;
    return bad ? host_fail("it cannot be initialised") : 0;
}

static int host_give(const double *inputs)
{
    return host.failed ? -1 : host_set(host_inputs, HOST_INPUTS, inputs);
}

static int host_take(double *outputs)
{
    if (host.failed)
        return -1;
    const int status = HOST_VERSION == 2 ? host.get2(host.instance, host_outputs, HOST_OUTPUTS, outputs)
                                         : host.get3(host.instance, host_outputs, HOST_OUTPUTS, outputs, HOST_OUTPUTS);
    return status > 1 ? host_fail("its outputs cannot be read") : 0;
}

static int host_step(double period)
{
    if (host.failed)
        return -1;
    bool event = false, terminate = false, early = false;
    double last = 0.0;
    const double time = (double)host.k*period;
    const int status = HOST_VERSION == 2 ? host.step2(host.instance, time, period, 1)
                                         : host.step3(host.instance, time, period, true, &event, &terminate, &early, &last);
    host.k += 1;
    if (status > 1)
        return host_fail("a step failed");
    return early || terminate ? host_fail("a step ended early") : 0;
}
