/* How are large objects allocated? */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#ifndef MADV_COLLAPSE /* Linux 6.1; older headers lack it, older kernels return an error */
#define MADV_COLLAPSE 25
#endif
#endif

#include "platform/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Header of a block of memory that holds one or several allocations; freed with the last of them. */
typedef struct slab {
    _Atomic int32_t references; /* live allocations, and one while it is the open slab or in use by a thread */
    uint8_t *next, *end;
    void *block;
    size_t block_bytes; /* 0: from malloc */
} slab;

_Static_assert(sizeof(slab) <= DRV_CACHE_LINE, "the header fits a cache line");

/* The large page of x86-64 and of most other systems; and the largest common small page, the unit of mappings. */
enum { LARGE_PAGE = 2 << 20, SMALL_PAGE = 1 << 16 };

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

/* The slab with free capacity. NULL before the first shared allocation, and `used_once` after it: a single allocation
 * needs no shared slab. A thread takes the slab by an atomic exchange and puts it back, so no thread waits; a child
 * forked in between has no open slab and creates another. */
static _Atomic(slab *) open_slab;
static slab used_once;

static uint8_t *rounded_up(uint8_t *address, uintptr_t step) {
    return address + (step - (uintptr_t)address % step) % step;
}

/* Writes a slab header to the first cache line of `memory`, which is aligned to a line. The caller holds one
 * reference. */
static slab *slab_in(uint8_t *memory, uint64_t bytes, void *block, size_t block_bytes) {
    slab *header = (slab *)(void *)memory;
    atomic_init(&header->references, 1);
    header->next = memory + DRV_CACHE_LINE;
    header->end = memory + bytes;
    header->block = block;
    header->block_bytes = block_bytes;
    return header;
}

#if defined(__linux__)
/* Maps zeroed memory, aligned to a large page; NULL on failure. */
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

/* Creates a slab for many allocations, in memory that can become one large page. */
static slab *large_slab(void) {
#if defined(__linux__) /* calloc may reuse freed memory, and would then clear all of it */
    uint8_t *page = map_pages(LARGE_PAGE);
    return page ? slab_in(page, LARGE_PAGE, page, LARGE_PAGE) : NULL;
#else
    uint8_t *block = calloc(1, LARGE_PAGE);
    if (!block) return NULL;
    uint8_t *memory = rounded_up(block, DRV_CACHE_LINE);
    return slab_in(memory, (uint64_t)(block + LARGE_PAGE - memory), block, 0);
#endif
}

/* Advises the kernel to back a full slab with one large page. A failure is harmless. */
static void advise_large_page(slab *full) {
#if defined(__linux__)
    if (full->block_bytes > 0 && madvise(full->block, full->block_bytes, MADV_COLLAPSE) != 0)
        madvise(full->block, full->block_bytes, MADV_HUGEPAGE);
#else
    (void)full;
#endif
}

/* Creates a slab with a capacity of `bytes`. */
static slab *slab_for(uint64_t bytes) {
    if (bytes > SIZE_MAX - 2 * (uint64_t)LARGE_PAGE) return NULL;
    const size_t all = (size_t)bytes + DRV_CACHE_LINE;
#if defined(__linux__)
    if (shares_slabs && bytes >= LARGE_PAGE) { /* backed by large pages as they are first written */
        const size_t whole = (all + SMALL_PAGE - 1) / SMALL_PAGE * SMALL_PAGE;
        uint8_t *page = map_pages(whole);
        if (!page) return NULL;
        madvise(page, whole, MADV_HUGEPAGE);
        return slab_in(page, all, page, whole);
    }
#endif
    void *block = calloc(1, all + DRV_CACHE_LINE - 1);
    if (!block) return NULL;
    return slab_in(rounded_up(block, DRV_CACHE_LINE), all, block, 0);
}

static void drop_reference(slab *held) {
    if (!held || held == &used_once || atomic_fetch_sub(&held->references, 1) != 1) return;
#if defined(__linux__)
    if (held->block_bytes > 0) {
        munmap(held->block, held->block_bytes);
        return;
    }
#endif
    free(held->block);
}

/* Allocates from the slab. The cache line before the returned memory holds the pointer to the slab. */
static void *allocate(slab *held, uint64_t bytes) {
    *(slab **)(void *)held->next = held;
    atomic_fetch_add(&held->references, 1);
    uint8_t *memory = held->next + DRV_CACHE_LINE;
    held->next += bytes;
    return memory;
}

/* Bytes of an allocation in whole lines, with the line before it; 0 on overflow. */
static uint64_t allocation_bytes(uint64_t bytes) {
    return bytes > UINT64_MAX - 2 * DRV_CACHE_LINE ? 0 : drv_round_up_to_line(bytes) + DRV_CACHE_LINE;
}

void *drv_memory_acquire(uint64_t bytes) {
    const uint64_t size = allocation_bytes(bytes);
    slab *own = size > 0 ? slab_for(size) : NULL;
    if (!own) return NULL;
    void *memory = allocate(own, size);
    drop_reference(own);
    return memory;
}

/* Makes the slab the open one, unless another thread has opened one. */
static void leave_open(slab *held) {
    slab *none = NULL;
    if (!atomic_compare_exchange_strong(&open_slab, &none, held)) drop_reference(held);
}

void *drv_memory_acquire_shared(uint64_t bytes) {
    const uint64_t size = allocation_bytes(bytes);
    if (!shares_slabs || size == 0 || size > LARGE_PAGE / 4) return drv_memory_acquire(bytes);
    slab *held = atomic_exchange(&open_slab, NULL);
    if (held && (uint64_t)(held->end - held->next) < size) {
        if (held != &used_once) advise_large_page(held);
        drop_reference(held);
        held = large_slab();
        if (!held) return drv_memory_acquire(bytes); /* there may still be memory for this alone */
    }
    void *memory = held ? allocate(held, size) : drv_memory_acquire(bytes);
    leave_open(held ? held : &used_once);
    return memory;
}

void drv_memory_close_slab(void) { drop_reference(atomic_exchange(&open_slab, NULL)); }

void drv_memory_release(void *memory) {
    if (memory) drop_reference(*(slab **)(void *)((uint8_t *)memory - DRV_CACHE_LINE));
}
