#define _GNU_SOURCE
#include "shelter.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MAPPINGS 4

static struct {
    char *memory, *copy;
    size_t bytes, kept;
    volatile int *lost;
} mappings[MAPPINGS];
static int count;

/* Calls nothing but the kernel and memcpy. The old pages go first, so that a limit of locked memory has room for the
   new ones; one thread alone uses the memory. Where it cannot be done, the access comes again and ends the process. */
static void on_bus_error(int number, siginfo_t *about, void *context)
{
    (void)context;
    const char *at = about->si_addr;
    for (int i = 0; i < count; ++i) {
        char *memory = mappings[i].memory;
        if (at < memory || at >= memory + mappings[i].bytes)
            continue;
        munmap(memory, mappings[i].bytes);
        if (mmap(memory, mappings[i].bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
            == MAP_FAILED)
            break;
        memcpy(memory, mappings[i].copy, mappings[i].kept);
        *mappings[i].lost = 1;
        return;
    }
    signal(number, SIG_DFL);
}

void bl_shelter(void *memory, size_t bytes, size_t kept, volatile int *lost)
{
    char *copy = malloc(kept + 1);
    if (count == MAPPINGS || copy == NULL)
        return; /* as without a shelter: the rig has a watchdog */
    memcpy(copy, memory, kept);
    mappings[count].memory = memory;
    mappings[count].copy = copy;
    mappings[count].bytes = bytes;
    mappings[count].kept = kept;
    mappings[count].lost = lost;
    count += 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
