/* Copying to and from memory that another thread or process may read or write at the same moment.
 *
 * Word by word, each whole: memcpy may copy bytes, or read a word twice, and a race on it is undefined in C11.
 * Relaxed, so they cost what plain loads and stores do. The order comes from the fences around them: see
 * bl_segment_begin and write_message.
 */
#ifndef BL_WORDS_H
#define BL_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t __attribute__((may_alias)) bl_word; /* also of a double */

static inline void bl_words_put(void *shared, const void *own, size_t count)
{
    bl_word *to = shared;
    for (size_t i = 0; i < count; ++i) {
        bl_word word;
        memcpy(&word, (const char *)own + sizeof word*i, sizeof word);
        __atomic_store_n(&to[i], word, __ATOMIC_RELAXED);
    }
}

static inline void bl_words_get(void *own, const void *shared, size_t count)
{
    const bl_word *from = shared;
    for (size_t i = 0; i < count; ++i) {
        const bl_word word = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
        memcpy((char *)own + sizeof word*i, &word, sizeof word);
    }
}

#endif
