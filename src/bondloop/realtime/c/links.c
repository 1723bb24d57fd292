#include <stddef.h>
#include <string.h>

#include "link.h"

const bl_link *bl_link_find(const char *url, const char **address)
{
    const char *colon = strstr(url, "://");
    if (colon == NULL)
        return NULL;
    *address = colon + 3;
    const size_t length = (size_t)(colon - url);
    for (const bl_link *const *link = bl_links; *link != NULL; ++link)
        if (strlen((*link)->scheme) == length && strncmp((*link)->scheme, url, length) == 0)
            return *link;
    return NULL;
}
