/* How is long-lived memory allocated? In arenas: zeroed, aligned to cache lines, in slabs that allocations share.
 *
 * Records are loaded 32 bytes at a time, and half of them would straddle two lines at malloc's alignment. Scenes side
 * by side in slabs occupy fewer pages, and fewer still where the system provides large pages. */
#ifndef DRV_ARENA_H
#define DRV_ARENA_H

#include <stdint.h>

#include "drive.h"

enum { DRV_CACHE_LINE = 64 };

static inline uint64_t drv_round_up_to_line(uint64_t bytes) {
    return (bytes + DRV_CACHE_LINE - 1) / DRV_CACHE_LINE * DRV_CACHE_LINE;
}

/* Allocates memory that is freed with the arena; NULL if out of memory. One thread at a time may allocate from an
 * arena. */
void *drv_arena_acquire(drv_arena *arena, uint64_t bytes);

/* Allocates memory that lives until drv_memory_release, even if the arena is freed before. Where `arena` is NULL it has
 * a slab of its own. NULL if out of memory. */
void *drv_memory_acquire(drv_arena *arena, uint64_t bytes);

/* Releases what drv_memory_acquire returned, in any thread; no-op on NULL. A slab is freed once its arena is freed and
 * all such memory in it is released. */
void drv_memory_release(void *memory);

#endif
