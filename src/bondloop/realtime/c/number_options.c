/* Options of a program that are numbers. */
#include "number_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bl_read_number(
    const bl_number_option *options, size_t count, const char *word, const char *value, const char *who)
{
    for (size_t i = 0; i < count; ++i)
        if (strcmp(word, options[i].word) == 0) {
            char *end;
            const double number = strtod(value, &end);
            if (*end != '\0' || end == value)
                return BL_OPTION_NO_NUMBER;
            if (!(number >= options[i].least && number <= options[i].most)) {
                fprintf(stderr, "%s: %s must be from %g to %g; found %s\n", who, word, options[i].least,
                    options[i].most, value);
                return BL_OPTION_OUTSIDE;
            }
            *options[i].number = number;
            return BL_OPTION_READ;
        }
    return BL_OPTION_OTHER;
}
