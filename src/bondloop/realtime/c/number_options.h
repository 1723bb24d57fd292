/* Options of a program that are numbers. */
#ifndef BL_NUMBER_OPTIONS_H
#define BL_NUMBER_OPTIONS_H

#include <stddef.h>

typedef struct {
    const char *word;
    double *number, least, most;
} bl_number_option;

enum { BL_OPTION_OTHER, BL_OPTION_READ, BL_OPTION_NO_NUMBER, BL_OPTION_OUTSIDE };

/* Reads an option's value if it is one of so many that are numbers. What lies outside is told on stderr. */
int bl_read_number(
    const bl_number_option *options, size_t count, const char *word, const char *value, const char *who);

#endif
