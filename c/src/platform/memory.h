/* Where do large things lie in memory? At the start of a cache line, scenes side by side.
 *
 * Records are read by 32 bytes, and half of them would lie across two lines where malloc puts them. Hundreds of scenes
 * in play are on few pages if they stand side by side, and on fewer where the system has large ones to give. */
#ifndef DRV_MEMORY_H
#define DRV_MEMORY_H

#include <stdint.h>

enum { DRV_CACHE_LINE = 64 };

static inline uint64_t drv_round_up_to_line(uint64_t bytes) {
    return (bytes + DRV_CACHE_LINE - 1) / DRV_CACHE_LINE * DRV_CACHE_LINE;
}

/* Zeros, from the start of a cache line on, 2 MB and more on large pages where the system has them; NULL where there is
 * no memory. */
void *drv_memory_acquire(uint64_t bytes);

/* The same on the open slab, beside what else stands there, if it is not too large for one. Nothing of a slab goes
 * before the last thing on it is given back, so this is for what comes and goes together. */
void *drv_memory_acquire_shared(uint64_t bytes);

/* Closes the open slab: what is shelved next comes and goes with other things. */
void drv_memory_close_slab(void);

/* Gives back what was taken; NULL is nothing. Any thread may, at any time. */
void drv_memory_release(void *memory);

#endif
