/* Where do large things lie in memory? */
#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "memory.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* One piece of memory. Small things stand on it side by side; it goes when the last of them has gone. */
typedef struct shelf {
    _Atomic int64_t holders; /* things on it, and who may put more there */
    uint8_t *next, *end;
} shelf;

/* A large page of x86-64, and of most other systems. */
static const uintptr_t large_page = (uintptr_t)2 << 20;

/* The sanitizers watch what lies between two requests, so everything has a shelf of its own there. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define DRV_WATCHED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(DRV_WATCHED)
static const uint64_t shelf_bytes = 0;
#else
static const uint64_t shelf_bytes = 8 << 20;
#endif

/* The shelf that has room, while nobody is at it. Whoever comes takes it away; who finds none makes another. So nobody
 * ever waits, not even in a process that was forked in between. */
static _Atomic(shelf *) open_shelf;

static uint8_t *rounded_up(uint8_t *place, uintptr_t step) { return place + (step - (uintptr_t)place % step) % step; }

/* Says that large pages are wanted for all that fills one; no matter if they are refused. */
static void ask_for_large_pages(uint8_t *begin, uint8_t *end) {
#if defined(__linux__)
    uint8_t *first = rounded_up(begin, large_page);
    const ptrdiff_t room = end - first;
    if (room >= (ptrdiff_t)large_page) madvise(first, (size_t)room / large_page * large_page, MADV_HUGEPAGE);
#else
    (void)begin, (void)end;
#endif
}

/* Room for so much, held by whoever asked. */
static shelf *new_shelf(uint64_t bytes) {
    const uint64_t slack = bytes >= large_page ? large_page : DRV_CACHE_LINE;
    if (bytes > SIZE_MAX - sizeof(shelf) - slack) return NULL;
    shelf *made = calloc(1, (size_t)(sizeof(shelf) + slack + bytes));
    if (!made) return NULL;
    atomic_init(&made->holders, 1);
    made->next = rounded_up((uint8_t *)(made + 1), (uintptr_t)slack);
    made->end = made->next + bytes;
    ask_for_large_pages(made->next, made->end);
    return made;
}

static void let_go(shelf *held) {
    if (held && atomic_fetch_sub(&held->holders, 1) == 1) free(held);
}

/* In the line before it stands the shelf. */
static void *put(shelf *held, uint64_t bytes) {
    shelf **line = (shelf **)(void *)held->next;
    *line = held;
    atomic_fetch_add(&held->holders, 1);
    uint8_t *memory = held->next + DRV_CACHE_LINE;
    held->next += bytes;
    return memory;
}

void *drv_memory_take(uint64_t bytes) {
    if (bytes > UINT64_MAX - 2 * DRV_CACHE_LINE) return NULL;
    const uint64_t room = (bytes + 2 * DRV_CACHE_LINE - 1) / DRV_CACHE_LINE * DRV_CACHE_LINE;
    if (room > shelf_bytes / 4) {
        shelf *own = new_shelf(room);
        void *memory = own ? put(own, room) : NULL;
        let_go(own);
        return memory;
    }
    shelf *held = atomic_exchange(&open_shelf, NULL);
    if (!held || (uint64_t)(held->end - held->next) < room) {
        let_go(held);
        held = new_shelf(shelf_bytes);
        if (!held) return NULL;
    }
    void *memory = put(held, room);
    shelf *nobodys = NULL;
    if (!atomic_compare_exchange_strong(&open_shelf, &nobodys, held)) let_go(held); /* somebody opened another */
    return memory;
}

void drv_memory_give(void *memory) {
    if (memory) let_go(*(shelf **)(void *)((uint8_t *)memory - DRV_CACHE_LINE));
}
