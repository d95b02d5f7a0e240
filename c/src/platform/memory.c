/* Where do large things lie in memory? */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#ifndef MADV_COLLAPSE /* Linux 6.1; older headers do not name it, older systems refuse it */
#define MADV_COLLAPSE 25
#endif
#endif

#include "platform/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* One piece of memory, for one thing or for several that stand side by side; it goes when the last of them has gone. */
typedef struct slab {
    _Atomic int32_t references; /* things on it, and who may put more there */
    uint8_t *next, *end;
    void *block;
    size_t block_bytes; /* 0: from malloc */
} slab;

_Static_assert(sizeof(slab) <= DRV_CACHE_LINE, "it has a line of its own");

/* A large page of x86-64, and of most other systems; and the largest of common small ones, of which whole ones are
 * mapped and given back. */
enum { LARGE_PAGE = 2 << 20, SMALL_PAGE = 1 << 16 };

/* The sanitizers watch what lies between two requests, so nothing shares a slab there, and nothing is mapped. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define DRV_WATCHED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(DRV_WATCHED)
static const bool shares = false;
#else
static const bool shares = true;
#endif

/* The slab that has room, while nobody is at it. NULL before the first thing that is shelved, and `begun` after it:
 * who comes alone needs none. Whoever comes takes it away, so nobody ever waits; a process that is forked in between
 * lacks the slab, and makes another. */
static _Atomic(slab *) open_slab;
static slab begun;

static uint8_t *rounded_up(uint8_t *place, uintptr_t step) { return place + (step - (uintptr_t)place % step) % step; }

/* Puts the slab's own line at the start of memory that begins at a line, and is held by whoever asked. */
static slab *made_of(uint8_t *memory, uint64_t bytes, void *block, size_t block_bytes) {
    slab *made = (slab *)(void *)memory;
    atomic_init(&made->references, 1);
    made->next = memory + DRV_CACHE_LINE;
    made->end = memory + bytes;
    made->block = block;
    made->block_bytes = block_bytes;
    return made;
}

#if defined(__linux__)
/* Zeros from the system, from the start of a large page on; NULL where there are none. */
static uint8_t *map_pages(size_t bytes) {
    const size_t more = bytes + LARGE_PAGE;
    uint8_t *block = mmap(NULL, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return NULL;
    uint8_t *page = rounded_up(block, LARGE_PAGE), *end = page + bytes;
    if (page > block) munmap(block, (size_t)(page - block));
    if (block + more > end) munmap(end, (size_t)(block + more - end));
    return page;
}
#endif

/* Room for many: what may become one large page. */
static slab *large_slab(void) {
#if defined(__linux__) /* malloc would hand out memory that was used, and clear all of it */
    uint8_t *page = map_pages(LARGE_PAGE);
    return page ? made_of(page, LARGE_PAGE, page, LARGE_PAGE) : NULL;
#else
    uint8_t *block = calloc(1, LARGE_PAGE);
    if (!block) return NULL;
    uint8_t *memory = rounded_up(block, DRV_CACHE_LINE);
    return made_of(memory, (uint64_t)(block + LARGE_PAGE - memory), block, 0);
#endif
}

/* Says that all of it is used now, so that the system may make one page of it; no matter if it does not. */
static void ask_for_large_page(slab *full) {
#if defined(__linux__)
    if (full->block_bytes > 0 && madvise(full->block, full->block_bytes, MADV_COLLAPSE) != 0)
        madvise(full->block, full->block_bytes, MADV_HUGEPAGE);
#else
    (void)full;
#endif
}

/* With so many bytes beside its own line. */
static slab *slab_for(uint64_t bytes) {
    if (bytes > SIZE_MAX - 2 * (uint64_t)LARGE_PAGE) return NULL;
    const size_t all = (size_t)bytes + DRV_CACHE_LINE;
#if defined(__linux__)
    if (shares && bytes >= LARGE_PAGE) { /* large pages from the start, as far as they are written to */
        const size_t whole = (all + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
        uint8_t *page = map_pages(whole);
        if (!page) return NULL;
        madvise(page, whole, MADV_HUGEPAGE);
        return made_of(page, all, page, whole);
    }
#endif
    void *block = calloc(1, all + DRV_CACHE_LINE - 1);
    if (!block) return NULL;
    return made_of(rounded_up(block, DRV_CACHE_LINE), all, block, 0);
}

static void drop_reference(slab *held) {
    if (!held || held == &begun || atomic_fetch_sub(&held->references, 1) != 1) return;
#if defined(__linux__)
    if (held->block_bytes > 0) {
        munmap(held->block, held->block_bytes);
        return;
    }
#endif
    free(held->block);
}

/* In the line before it stands the slab. */
static void *put(slab *held, uint64_t bytes) {
    *(slab **)(void *)held->next = held;
    atomic_fetch_add(&held->references, 1);
    uint8_t *memory = held->next + DRV_CACHE_LINE;
    held->next += bytes;
    return memory;
}

/* Bytes with the line before them, whole lines; 0 where that is more than can be. */
static uint64_t room_for(uint64_t bytes) {
    return bytes > UINT64_MAX - 2 * DRV_CACHE_LINE ? 0 : drv_round_up_to_line(bytes) + DRV_CACHE_LINE;
}

void *drv_memory_acquire(uint64_t bytes) {
    const uint64_t room = room_for(bytes);
    slab *own = room > 0 ? slab_for(room) : NULL;
    if (!own) return NULL;
    void *memory = put(own, room);
    drop_reference(own);
    return memory;
}

/* Leaves a slab open, unless somebody opened another. */
static void leave_open(slab *held) {
    slab *nobodys = NULL;
    if (!atomic_compare_exchange_strong(&open_slab, &nobodys, held)) drop_reference(held);
}

void *drv_memory_acquire_shared(uint64_t bytes) {
    const uint64_t room = room_for(bytes);
    if (!shares || room == 0 || room > LARGE_PAGE / 4) return drv_memory_acquire(bytes);
    slab *held = atomic_exchange(&open_slab, NULL);
    if (held && (uint64_t)(held->end - held->next) < room) {
        if (held != &begun) ask_for_large_page(held);
        drop_reference(held);
        held = large_slab();
        if (!held) return drv_memory_acquire(bytes); /* there may still be room for this alone */
    }
    void *memory = held ? put(held, room) : drv_memory_acquire(bytes);
    leave_open(held ? held : &begun);
    return memory;
}

void drv_memory_close_slab(void) { drop_reference(atomic_exchange(&open_slab, NULL)); }

void drv_memory_release(void *memory) {
    if (memory) drop_reference(*(slab **)(void *)((uint8_t *)memory - DRV_CACHE_LINE));
}
