/* How fast two processes can answer each other at all: realtime_limits shm|udp COUNT CPU CPU.
 * A parent and its child on a processor each bounce a message of 60 bytes, spinning; the ns of each round trip go
 * to standard output as 64-bit integers.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BYTES 60
#define PATIENCE 1000 /* looks before others may use the processor */

typedef struct {
    uint64_t turn;
    char bytes[BYTES];
    char spare[128 - 8 - BYTES];
} box;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec*1000000000 + t.tv_nsec;
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void wait_a_little(long *looks)
{
    if (++*looks > PATIENCE)
        sched_yield();
#if defined(__x86_64__)
    else
        __builtin_ia32_pause();
#endif
}

static void put(box *to, uint64_t turn, const char *bytes)
{
    memcpy(to->bytes, bytes, BYTES);
    __atomic_store_n(&to->turn, turn, __ATOMIC_RELEASE);
}

static void get(box *from, uint64_t turn, char *bytes)
{
    for (long looks = 0; __atomic_load_n(&from->turn, __ATOMIC_ACQUIRE) != turn;)
        wait_a_little(&looks);
    memcpy(bytes, from->bytes, BYTES);
}

static int connected(int ends[2])
{
    struct sockaddr_in at[2];
    for (int i = 0; i < 2; ++i) {
        socklen_t size = sizeof at[i];
        memset(&at[i], 0, sizeof at[i]);
        at[i].sin_family = AF_INET;
        at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ends[i] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        if (ends[i] < 0 || bind(ends[i], (struct sockaddr *)&at[i], size)
            || getsockname(ends[i], (struct sockaddr *)&at[i], &size))
            return -1;
    }
    for (int i = 0; i < 2; ++i)
        if (connect(ends[i], (struct sockaddr *)&at[1 - i], sizeof at[i]))
            return -1;
    return 0;
}

static void receive(int end, char *bytes)
{
    for (long looks = 0; recv(end, bytes, BYTES, MSG_DONTWAIT) != BYTES;)
        if (++looks > PATIENCE/10)
            sched_yield();
}

int main(int count, char **words)
{
    if (count != 5)
        return 1;
    const int udp = strcmp(words[1], "udp") == 0;
    const long trips = atol(words[2]);
    char bytes[BYTES] = "";
    int ends[2];
    box *boxes = mmap(NULL, 2*sizeof(box), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int64_t *took = calloc((size_t)trips + 1, sizeof *took);
    if (boxes == MAP_FAILED || took == NULL || connected(ends))
        return 2;
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setsid(); /* as rigs and loops are: Linux shares a processor out between sessions, and then within them */
        pin(atoi(words[4]));
        for (long i = 1; i <= trips; ++i)
            if (udp) {
                receive(ends[1], bytes);
                (void)!send(ends[1], bytes, BYTES, 0);
            } else {
                get(&boxes[0], (uint64_t)i, bytes);
                put(&boxes[1], (uint64_t)i, bytes);
            }
        return 0;
    }
    pin(atoi(words[3]));
    for (long i = 1; i <= trips; ++i) {
        const int64_t began = now();
        if (udp) {
            (void)!send(ends[0], bytes, BYTES, 0);
            receive(ends[0], bytes);
        } else {
            put(&boxes[0], (uint64_t)i, bytes);
            get(&boxes[1], (uint64_t)i, bytes);
        }
        took[i - 1] = now() - began;
    }
    return fwrite(took, sizeof *took, (size_t)trips, stdout) == (size_t)trips ? 0 : 3;
}
