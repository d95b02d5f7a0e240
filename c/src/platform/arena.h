/* How is long-lived memory allocated? In arenas: zeroed, aligned to cache lines, in slabs that allocations share.
 *
 * Records are loaded 32 bytes at a time, and half of them would straddle two lines at malloc's alignment. Scenes side
 * by side in slabs occupy fewer pages, and fewer still where the system provides large pages. */
#ifndef DRV_ARENA_H
#define DRV_ARENA_H

#include <stddef.h>
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

/* A block of memory that holds several arrays, one after another, each from a cache line on. The same code first
 * measures it, with `base` NULL, then sets the pointers to the arrays. */
typedef struct drv_block {
    uint8_t *base;
    uint64_t used; /* bytes of the arrays so far */
} drv_block;

/* Returns memory for the next array of a block; NULL while measuring. */
static inline void *drv_block_carve(drv_block *block, int64_t count, uint64_t item_bytes) {
    void *memory = block->base ? block->base + block->used : NULL;
    block->used += drv_round_up_to_line((uint64_t)(count > 0 ? count : 0) * item_bytes);
    return memory;
}

/* Sets a pointer to the next array of a block, of `count` elements. */
#define DRV_CARVE(block, array, count) ((array) = drv_block_carve((block), (int64_t)(count), sizeof *(array)))

#endif
