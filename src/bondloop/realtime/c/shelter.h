/* Shared memory whose file another process makes shorter: the next access would end this process (SIGBUS).
 *
 * Memory in the shelter is replaced by memory of this process alone in that moment, and the access done again. Nobody
 * else sees what is written there from then on, and what the others wrote is gone: who uses it is told, and goes to
 * the safe state.
 */
#ifndef BL_SHELTER_H
#define BL_SHELTER_H

#include <stddef.h>

/* Takes a mapping into the shelter. When it is lost, `lost` becomes 1, the first `kept` bytes are what they are now,
   and all others 0. */
void bl_shelter(void *memory, size_t bytes, size_t kept, volatile int *lost);

#endif
