/* How are large objects allocated? Aligned to cache lines; scenes share slabs.
 *
 * Records are loaded 32 bytes at a time, and half of them would straddle two lines at malloc's alignment. Scenes in
 * shared slabs occupy fewer pages, and fewer still where the system provides large pages. */
#ifndef DRV_MEMORY_H
#define DRV_MEMORY_H

#include <stdint.h>

enum { DRV_CACHE_LINE = 64 };

static inline uint64_t drv_round_up_to_line(uint64_t bytes) {
    return (bytes + DRV_CACHE_LINE - 1) / DRV_CACHE_LINE * DRV_CACHE_LINE;
}

/* Returns zeroed memory aligned to a cache line, from 2 MB on in large pages where the system has them; NULL if out of
 * memory. */
void *drv_memory_acquire(uint64_t bytes);

/* The same from the open slab, unless `bytes` are too many for one. A slab is freed with its last allocation, so this
 * is for objects of similar lifetime. */
void *drv_memory_acquire_shared(uint64_t bytes);

/* Closes the open slab: later allocations go to another one and do not extend its lifetime. */
void drv_memory_close_slab(void);

/* Releases acquired memory; no-op on NULL. Safe from any thread at any time. */
void drv_memory_release(void *memory);

#endif
