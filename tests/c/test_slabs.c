/* Is acquired memory exclusive, zeroed and aligned to a cache line?
 *
 * Under the address sanitizer no slab is shared; the thread sanitizer and memcheck test shared slabs. */
#include <pthread.h>

#include "check.h"
#include "dice.h"
#include "platform/memory.h"

enum { HELD = 64, TURNS = 4000, THREADS = 4, LARGE = 3 << 20 };

typedef struct thing {
    uint8_t *memory;
    uint32_t bytes;
    uint8_t mark;
} thing;

static int all_are(const uint8_t *memory, uint32_t bytes, uint8_t wanted) {
    for (uint32_t i = 0; i < bytes; i++)
        if (memory[i] != wanted) return 0;
    return 1;
}

/* Takes and gives in any order; what is held keeps what was written there. */
static void *trade(void *seed) {
    dice die = {*(const uint64_t *)seed};
    thing held[HELD] = {{0}};
    for (int turn = 0; turn < TURNS; turn++) {
        thing *one = &held[dice_below(&die, HELD)];
        if (one->memory) {
            CHECK(all_are(one->memory, one->bytes, one->mark), "%u bytes changed in turn %d", one->bytes, turn);
            drv_memory_release(one->memory);
            one->memory = NULL;
            continue;
        }
        one->bytes = (uint32_t)dice_below(&die, dice_below(&die, 8) == 0 ? 100000 : 600);
        one->mark = (uint8_t)(1 + dice_below(&die, 255));
        one->memory = dice_below(&die, 4) ? drv_memory_acquire_shared(one->bytes) : drv_memory_acquire(one->bytes);
        CHECK(one->memory && (uintptr_t)one->memory % DRV_CACHE_LINE == 0, "%u bytes at %p", one->bytes,
              (void *)one->memory);
        CHECK(all_are(one->memory, one->bytes, 0), "%u bytes are not empty in turn %d", one->bytes, turn);
        memset(one->memory, one->mark, one->bytes);
    }
    for (int i = 0; i < HELD; i++) drv_memory_release(held[i].memory);
    return NULL;
}

TEST(acquired_memory_is_zeroed_and_exclusive) {
    uint64_t seed = 7;
    trade(&seed);
}

TEST(threads_acquire_and_release_concurrently) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        seeds[i] = 100 + i;
        pthread_create(&threads[i], NULL, trade, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

TEST(large_allocations_are_zeroed_too) {
    uint8_t *one = drv_memory_acquire(LARGE), *other = drv_memory_acquire_shared(LARGE);
    CHECK(one && other && all_are(one, LARGE, 0), "%p", (void *)one);
    memset(one, 1, LARGE);
    CHECK(all_are(other, LARGE, 0), "%p and %p", (void *)one, (void *)other);
    drv_memory_release(other);
    CHECK(all_are(one, LARGE, 1), "%p", (void *)one);
    drv_memory_release(one);
}

/* From below a large page to beyond one and a small page of any size, by lines: all requested bytes are there. */
TEST(large_allocations_are_usable_to_their_last_byte) {
    enum { PAGE = 2 << 20, FROM = PAGE - 4 * DRV_CACHE_LINE, TO = PAGE + (1 << 17) };
    for (uint64_t bytes = FROM; bytes <= TO; bytes += DRV_CACHE_LINE) {
        uint8_t *memory = drv_memory_acquire(bytes);
        CHECK(memory && (uintptr_t)memory % DRV_CACHE_LINE == 0, "%llu bytes", (unsigned long long)bytes);
        CHECK(memory[0] == 0 && memory[bytes - 1] == 0, "%llu bytes", (unsigned long long)bytes);
        memory[0] = memory[bytes - 1] = 1;
        drv_memory_release(memory);
    }
    for (uint64_t pages = 3; pages <= 33; pages += 10) {
        const uint64_t bytes = pages * PAGE - DRV_CACHE_LINE;
        uint8_t *memory = drv_memory_acquire(bytes);
        CHECK(memory && all_are(memory, (uint32_t)bytes, 0), "%llu bytes", (unsigned long long)bytes);
        memset(memory, 1, (size_t)bytes);
        drv_memory_release(memory);
    }
}

TEST(impossible_sizes_are_refused) {
    for (uint64_t less = 0; less < 3 * DRV_CACHE_LINE; less++)
        CHECK(!drv_memory_acquire(UINT64_MAX - less) && !drv_memory_acquire_shared(UINT64_MAX - less),
              "%llu less than there can be", (unsigned long long)less);
    drv_memory_release(NULL);
}
