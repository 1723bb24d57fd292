#include <stddef.h>
#include <string.h>

#include "port.h"

static const bl_port *const ports[] = {&bl_port_udp, &bl_port_shm, NULL};

const bl_port *bl_port_find(const char *url, const char **address)
{
    const char *colon = strstr(url, "://");
    if (colon == NULL)
        return NULL;
    *address = colon + 3;
    const size_t length = (size_t)(colon - url);
    for (const bl_port *const *port = ports; *port != NULL; ++port)
        if (strlen((*port)->scheme) == length && strncmp((*port)->scheme, url, length) == 0)
            return *port;
    return NULL;
}
