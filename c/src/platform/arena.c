/* How is long-lived memory allocated? In arenas of slabs. */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#ifndef MADV_COLLAPSE /* Linux 6.1; older headers lack it, older kernels return an error */
#define MADV_COLLAPSE 25
#endif
#endif

#include "platform/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Header of a slab, in its first cache line. Its allocations are consecutive. */
typedef struct slab {
    _Atomic int32_t references; /* reference count: the arena, and each allocation of drv_memory_acquire */
    uint8_t *next, *end;        /* free capacity */
    void *block;                /* what malloc or mmap returned */
    size_t mapped_bytes;        /* 0: the block is from malloc */
    struct slab *older;         /* of the same arena */
} slab;

_Static_assert(sizeof(slab) <= DRV_CACHE_LINE, "the header fits a cache line");

struct drv_arena {
    slab *slabs;         /* all of them, the newest first */
    slab *open;          /* the one that small allocations share, or NULL */
    uint64_t open_bytes; /* its size */
};

enum {
    /* Bytes of a large page of x86-64 and most other systems, and of the largest common small page, the unit of
     * mappings. */
    LARGE_PAGE = 2 << 20,
    SMALL_PAGE = 1 << 16,
    /* The slabs of an arena double from this size to a large page, so that a small arena stays small. */
    FIRST_SLAB = 1 << 16,
    /* Larger allocations get a slab of their own, so at most a quarter of a large page is lost at the end of a slab. */
    SHARING_LIMIT = LARGE_PAGE / 4
};

/* The sanitizers detect overruns between separate mallocs only: under them no slab is shared and nothing is mapped. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define DRV_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(DRV_SANITIZED)
static const bool shares_slabs = false;
#else
static const bool shares_slabs = true;
#endif

/* ---- slabs ---- */

static uint8_t *rounded_up(uint8_t *address, uintptr_t step) {
    return address + (step - (uintptr_t)address % step) % step;
}

/* Writes the header to the start of `memory`, which is aligned to a cache line. The caller has the one reference. */
static slab *slab_in(uint8_t *memory, uint64_t bytes, void *block, size_t mapped_bytes) {
    slab *header = (slab *)(void *)memory;
    atomic_init(&header->references, 1);
    header->next = memory + DRV_CACHE_LINE;
    header->end = memory + bytes;
    header->block = block;
    header->mapped_bytes = mapped_bytes;
    header->older = NULL;
    return header;
}

#if defined(__linux__)
/* Maps zeroed memory, aligned to a large page if it is at least one; NULL on failure. */
static uint8_t *map_pages(size_t bytes) {
    const size_t mapped = bytes < LARGE_PAGE ? bytes : bytes + LARGE_PAGE;
    uint8_t *block = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return NULL;
    if (mapped == bytes) return block;
    uint8_t *page = rounded_up(block, LARGE_PAGE), *end = page + bytes;
    if (page > block) munmap(block, (size_t)(page - block));
    if (block + mapped > end) munmap(end, (size_t)(block + mapped - end));
    return page;
}
#endif

/* Creates a slab of `bytes`, a multiple of cache lines with its header included; NULL if out of memory. `large_pages`
 * advises the kernel to back it with large pages as it is written. */
static slab *create_slab(uint64_t bytes, bool large_pages) {
    if (bytes > SIZE_MAX - 2 * (uint64_t)LARGE_PAGE) return NULL;
#if defined(__linux__) /* calloc would clear reused memory, and its heap would keep what is freed between live blocks */
    if (shares_slabs && bytes >= SMALL_PAGE) {
        const size_t whole = ((size_t)bytes + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
        uint8_t *page = map_pages(whole);
        if (!page) return NULL;
        /* before the header is written, since a write backs the page; a failure is harmless */
        if (large_pages && whole >= LARGE_PAGE) madvise(page, whole, MADV_HUGEPAGE);
        return slab_in(page, bytes, page, whole);
    }
#else
    (void)large_pages;
#endif
    uint8_t *block = calloc(1, (size_t)bytes + DRV_CACHE_LINE - 1);
    return block ? slab_in(rounded_up(block, DRV_CACHE_LINE), bytes, block, 0) : NULL;
}

static void drop_reference(slab *from) {
    if (atomic_fetch_sub(&from->references, 1) != 1) return;
#if defined(__linux__)
    if (from->mapped_bytes > 0) {
        munmap(from->block, from->mapped_bytes);
        return;
    }
#endif
    free(from->block);
}

/* Advises the kernel to move a full slab of that size to a large page. A failure is harmless. */
static void collapse_to_large_page(slab *full) {
#if defined(__linux__)
    if (full->mapped_bytes == LARGE_PAGE && madvise(full->block, LARGE_PAGE, MADV_COLLAPSE) != 0)
        madvise(full->block, LARGE_PAGE, MADV_HUGEPAGE);
#else
    (void)full;
#endif
}

/* Creates a slab for one allocation. */
static slab *create_own_slab(uint64_t bytes) { return create_slab(bytes + DRV_CACHE_LINE, true); }

static bool has_capacity(const slab *open, uint64_t bytes) { return (uint64_t)(open->end - open->next) >= bytes; }

static uint8_t *cut(slab *from, uint64_t bytes) {
    uint8_t *memory = from->next;
    from->next += bytes;
    return memory;
}

/* ---- arenas ---- */

drv_arena *drv_arena_create(void) { return calloc(1, sizeof(drv_arena)); }

void drv_arena_free(drv_arena *arena) {
    if (!arena) return;
    for (slab *current = arena->slabs; current;) {
        slab *older = current->older; /* read first: the slab may be freed */
        drop_reference(current);
        current = older;
    }
    free(arena);
}

/* Creates the next slab that allocations share, with capacity for `bytes`; NULL if out of memory. */
static slab *open_slab(drv_arena *arena, uint64_t bytes) {
    if (arena->open) collapse_to_large_page(arena->open);
    uint64_t size = arena->open_bytes < FIRST_SLAB ? FIRST_SLAB : 2 * arena->open_bytes;
    while (size < bytes + DRV_CACHE_LINE) size *= 2;
    arena->open_bytes = size < LARGE_PAGE ? size : LARGE_PAGE;
    arena->open = create_slab(arena->open_bytes, false);
    return arena->open;
}

/* Returns a slab of the arena with capacity for `bytes`; NULL if out of memory. */
static slab *slab_with(drv_arena *arena, uint64_t bytes) {
    if (arena->open && has_capacity(arena->open, bytes)) return arena->open;
    slab *added = shares_slabs && bytes <= SHARING_LIMIT ? open_slab(arena, bytes) : create_own_slab(bytes);
    if (!added) return NULL;
    added->older = arena->slabs;
    arena->slabs = added;
    return added;
}

static bool is_possible(uint64_t bytes) { return bytes <= UINT64_MAX - 4 * DRV_CACHE_LINE; }

void *drv_arena_acquire(drv_arena *arena, uint64_t bytes) {
    if (!is_possible(bytes)) return NULL;
    const uint64_t size = drv_round_up_to_line(bytes);
    slab *from = slab_with(arena, size);
    return from ? cut(from, size) : NULL;
}

void *drv_memory_acquire(drv_arena *arena, uint64_t bytes) {
    if (!is_possible(bytes)) return NULL;
    const uint64_t size = drv_round_up_to_line(bytes) + DRV_CACHE_LINE;
    slab *from = arena ? slab_with(arena, size) : create_own_slab(size);
    if (!from) return NULL;
    if (arena) atomic_fetch_add(&from->references, 1);
    uint8_t *line = cut(from, size);
    *(slab **)(void *)line = from; /* the line before the memory refers to its slab */
    return line + DRV_CACHE_LINE;
}

void drv_memory_release(void *memory) {
    if (memory) drop_reference(*(slab **)(void *)((uint8_t *)memory - DRV_CACHE_LINE));
}
