/* Where does long-lived memory come from? Arenas: zeroed memory, aligned to cache lines and cut from slabs.
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

/* One thread at a time may allocate from an arena.
 *
 * Allocates memory that is freed with the arena; NULL if out of memory. */
void *drv_arena_acquire(drv_arena *arena, uint64_t bytes);

/* Allocates memory with an owner of its own, who may outlive the arena and ends it with drv_memory_release. Where
 * `arena` is NULL it shares no slab. NULL if out of memory. */
void *drv_memory_acquire(drv_arena *arena, uint64_t bytes);

/* Releases what drv_memory_acquire returned, in any thread; no-op on NULL. A slab is freed once its arena and all
 * owners of its memory have released it. */
void drv_memory_release(void *memory);

#endif
