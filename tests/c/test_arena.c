/* Is the memory of an arena zeroed, exclusive and aligned, and is it freed with its last owner?
 *
 * Under the address sanitizer no slab is shared; the thread sanitizer and memcheck test shared slabs. Allocations are
 * counted;
 * link with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=free -Wl,--wrap=mmap -Wl,--wrap=munmap
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "batch_fixture.h"
#include "check.h"
#include "platform/arena.h"
#include "rng.h"
#include "scene/scene.h"
#include "scene_fixture.h"

enum { OBJECTS = 64, ROUNDS = 4000, THREADS = 4, LARGE_PAGE = 2 << 20 };

/* ---- what is allocated ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void __real_free(void *memory);
void *__real_mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset);
int __real_munmap(void *at, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void __wrap_free(void *memory);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset);
int __wrap_munmap(void *at, size_t bytes);

static atomic_llong mapped_bytes;
static atomic_int heap_blocks;

static void *counted(void *memory) {
    if (memory) atomic_fetch_add(&heap_blocks, 1);
    return memory;
}

void *__wrap_malloc(size_t bytes) { return counted(__real_malloc(bytes)); }
void *__wrap_calloc(size_t count, size_t bytes) { return counted(__real_calloc(count, bytes)); }

void __wrap_free(void *memory) {
    if (memory) atomic_fetch_sub(&heap_blocks, 1);
    __real_free(memory);
}

void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset) {
    void *memory = __real_mmap(at, bytes, access, flags, file, offset);
    if (memory != MAP_FAILED) atomic_fetch_add(&mapped_bytes, (long long)bytes);
    return memory;
}

int __wrap_munmap(void *at, size_t bytes) {
    const int status = __real_munmap(at, bytes);
    if (status == 0) atomic_fetch_sub(&mapped_bytes, (long long)bytes);
    return status;
}

typedef struct allocated {
    long long mapped_bytes;
    int heap_blocks;
} allocated;

static allocated allocated_now(void) { return (allocated){atomic_load(&mapped_bytes), atomic_load(&heap_blocks)}; }

static bool is_same_as(allocated before) {
    const allocated now = allocated_now();
    return now.mapped_bytes == before.mapped_bytes && now.heap_blocks == before.heap_blocks;
}

/* Words at a time, since sanitizers and valgrind take as long for a byte. */
static bool all_are(const uint8_t *memory, uint64_t bytes, uint8_t wanted) {
    uint64_t words, difference = 0, at = 0;
    memset(&words, wanted, sizeof words);
    for (uint64_t word; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, memory + at, sizeof word);
        difference |= word ^ words;
    }
    for (; at < bytes; at++) difference |= (uint64_t)(memory[at] ^ wanted);
    return difference == 0;
}

/* ---- memory of one thread ---- */

typedef struct object {
    uint8_t *memory;
    uint32_t bytes;
    uint8_t mark;
} object;

/* Allocates and releases in random order. An object keeps what was written to it until it is released. */
static void *allocate_and_release(void *seed) {
    test_rng rng = {*(const uint64_t *)seed};
    drv_arena *arena = drv_arena_create();
    object objects[OBJECTS] = {{0}};
    for (int round = 0; round < ROUNDS; round++) {
        /* release an object that exists */
        object *one = &objects[rng_below(&rng, OBJECTS)];
        if (one->memory) {
            CHECK(all_are(one->memory, one->bytes, one->mark), "%u bytes changed by round %d", one->bytes, round);
            drv_memory_release(one->memory);
            one->memory = NULL;
            continue;
        }
        /* or acquire it: one in eight of up to 100 kB, the others small; one in four with a slab of its own */
        one->bytes = (uint32_t)rng_below(&rng, rng_below(&rng, 8) == 0 ? 100000 : 600);
        one->mark = (uint8_t)(1 + rng_below(&rng, 255));
        one->memory = drv_memory_acquire(rng_below(&rng, 4) ? arena : NULL, one->bytes);
        CHECK(one->memory && (uintptr_t)one->memory % DRV_CACHE_LINE == 0, "%u bytes at %p", one->bytes,
              (void *)one->memory);
        CHECK(all_are(one->memory, one->bytes, 0), "%u bytes are not zeroed in round %d", one->bytes, round);
        memset(one->memory, one->mark, one->bytes);
        if (rng_below(&rng, 500) == 0) { /* the objects outlive their arena */
            drv_arena_free(arena);
            arena = drv_arena_create();
        }
    }
    for (int i = 0; i < OBJECTS; i++) drv_memory_release(objects[i].memory);
    drv_arena_free(arena);
    return NULL;
}

TEST(acquired_memory_is_zeroed_exclusive_and_freed) {
    const allocated before = allocated_now();
    uint64_t seed = 7;
    allocate_and_release(&seed);
    CHECK(is_same_as(before), "%lld bytes, %d blocks", allocated_now().mapped_bytes, allocated_now().heap_blocks);
}

TEST(memory_without_an_owner_is_freed_with_its_arena) {
    const allocated before = allocated_now();
    drv_arena *arena = drv_arena_create();
    uint8_t *memory[OBJECTS];
    for (uint32_t i = 0; i < OBJECTS; i++) {
        const uint64_t bytes = (uint64_t)i * i * 1000; /* up to 4 MB */
        memory[i] = drv_arena_acquire(arena, bytes);
        CHECK(memory[i] && (uintptr_t)memory[i] % DRV_CACHE_LINE == 0 && all_are(memory[i], bytes, 0), "object %u", i);
        memset(memory[i], (int)i, (size_t)bytes);
    }
    for (uint32_t i = 0; i < OBJECTS; i++)
        CHECK(all_are(memory[i], (uint64_t)i * i * 1000, (uint8_t)i), "object %u changed", i);
    drv_arena_free(arena);
    CHECK(is_same_as(before), "%lld bytes, %d blocks", allocated_now().mapped_bytes, allocated_now().heap_blocks);
    drv_arena_free(NULL);
}

TEST(objects_of_an_arena_are_side_by_side) {
    drv_arena *arena = drv_arena_create();
    uint8_t *memory[OBJECTS];
    int neighbours = 0;
    for (int i = 0; i < OBJECTS; i++) {
        memory[i] = drv_memory_acquire(arena, 100000);
        /* The cache line before an object refers to its slab. */
        neighbours += i > 0 && memory[i] == memory[i - 1] + drv_round_up_to_line(100000) + DRV_CACHE_LINE;
    }
#if !defined(__SANITIZE_ADDRESS__)
    /* Slabs double in size up to a large page, so there are fewer than 9; the first object of each has no neighbour. */
    CHECK(neighbours >= OBJECTS - 8, "%d neighbours", neighbours);
#else
    CHECK(neighbours == 0, "%d neighbours: no overrun would be detected", neighbours);
#endif
    for (int i = 0; i < OBJECTS; i++) drv_memory_release(memory[i]);
    drv_arena_free(arena);
}

TEST(small_objects_fill_a_slab_to_its_last_line) {
    enum { LINES = 100000 };
    static uint32_t *objects[LINES];
    drv_arena *arena = drv_arena_create();
    for (uint32_t i = 0; i < LINES; i++) {
        objects[i] = drv_arena_acquire(arena, DRV_CACHE_LINE);
        CHECK(objects[i] && all_are((uint8_t *)objects[i], DRV_CACHE_LINE, 0), "object %u", i);
        for (int k = 0; k < DRV_CACHE_LINE / 4; k++) objects[i][k] = i;
    }
    for (uint32_t i = 0; i < LINES; i++)
        for (int k = 0; k < DRV_CACHE_LINE / 4; k++) CHECK(objects[i][k] == i, "object %u changed", i);
    drv_arena_free(arena);
}

TEST(a_small_arena_is_smaller_than_a_large_page) {
    const allocated before = allocated_now();
    drv_arena *arena = drv_arena_create();
    void *memory = drv_memory_acquire(arena, 100000);
    CHECK(allocated_now().mapped_bytes - before.mapped_bytes < LARGE_PAGE, "%lld bytes", allocated_now().mapped_bytes);
    drv_memory_release(memory);
    drv_arena_free(arena);
}

/* ---- large allocations ---- */

TEST(large_allocations_are_zeroed_and_exclusive) {
    enum { BYTES = 3 << 20 };
    drv_arena *arena = drv_arena_create();
    uint8_t *one = drv_memory_acquire(NULL, BYTES), *other = drv_memory_acquire(arena, BYTES);
    CHECK(one && other && all_are(one, BYTES, 0), "%p", (void *)one);
    memset(one, 1, BYTES);
    CHECK(all_are(other, BYTES, 0), "%p and %p", (void *)one, (void *)other);
    drv_memory_release(other);
    CHECK(all_are(one, BYTES, 1), "%p", (void *)one);
    drv_memory_release(one);
    drv_arena_free(arena);
}

/* From below a large page to beyond one and a small page of any size, by lines: all requested bytes are there. */
TEST(large_allocations_are_usable_to_their_last_byte) {
    enum { FROM = LARGE_PAGE - 4 * DRV_CACHE_LINE, TO = LARGE_PAGE + (1 << 17) };
    for (uint64_t bytes = FROM; bytes <= TO; bytes += DRV_CACHE_LINE) {
        uint8_t *memory = drv_memory_acquire(NULL, bytes);
        CHECK(memory && (uintptr_t)memory % DRV_CACHE_LINE == 0, "%llu bytes", (unsigned long long)bytes);
        CHECK(memory[0] == 0 && memory[bytes - 1] == 0, "%llu bytes", (unsigned long long)bytes);
        memory[0] = memory[bytes - 1] = 1;
        drv_memory_release(memory);
    }
    for (uint64_t pages = 3; pages <= 33; pages += 10) {
        const uint64_t bytes = pages * LARGE_PAGE - DRV_CACHE_LINE;
        uint8_t *memory = drv_memory_acquire(NULL, bytes);
        CHECK(memory && all_are(memory, bytes, 0), "%llu bytes", (unsigned long long)bytes);
        memset(memory, 1, (size_t)bytes);
        drv_memory_release(memory);
    }
}

TEST(impossible_sizes_are_refused) {
    drv_arena *arena = drv_arena_create();
    for (uint64_t less = 0; less < 8 * DRV_CACHE_LINE; less++) {
        const uint64_t bytes = UINT64_MAX - less;
        CHECK(!drv_memory_acquire(NULL, bytes) && !drv_memory_acquire(arena, bytes) && !drv_arena_acquire(arena, bytes),
              "%llu bytes", (unsigned long long)bytes);
    }
    drv_arena_free(arena);
    drv_memory_release(NULL);
}

/* ---- threads ---- */

TEST(threads_use_arenas_of_their_own_concurrently) {
    const allocated before = allocated_now();
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        seeds[i] = 100 + i;
        pthread_create(&threads[i], NULL, allocate_and_release, &seeds[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK(allocated_now().mapped_bytes == before.mapped_bytes, "%lld bytes", allocated_now().mapped_bytes);
}

static uint8_t *of_one_arena[THREADS * OBJECTS];

/* Releases every THREADS-th object, so that all threads release memory of the same slabs. */
static void *release_share(void *first) {
    for (uint8_t **one = first; one < of_one_arena + THREADS * OBJECTS; one += THREADS) {
        CHECK(all_are(*one, 50000, 3), "object %d changed", (int)(one - of_one_arena));
        drv_memory_release(*one);
    }
    return NULL;
}

TEST(any_thread_releases_memory_of_a_freed_arena) {
    const allocated before = allocated_now();
    drv_arena *arena = drv_arena_create();
    for (int i = 0; i < THREADS * OBJECTS; i++) {
        of_one_arena[i] = drv_memory_acquire(arena, 50000);
        memset(of_one_arena[i], 3, 50000);
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS / 2; i++) pthread_create(&threads[i], NULL, release_share, of_one_arena + i);
    drv_arena_free(arena);
    for (int i = THREADS / 2; i < THREADS; i++) pthread_create(&threads[i], NULL, release_share, of_one_arena + i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK(allocated_now().mapped_bytes == before.mapped_bytes, "%lld bytes", allocated_now().mapped_bytes);
}

/* ---- scenes and batches ---- */

TEST(memory_of_an_arena_is_freed_with_its_last_scene) {
    enum { SCENES = 1000 };
    static drv_scene *scenes[SCENES];
    small_scene small;
    make_small(&small);
    const allocated before = allocated_now();
    drv_arena *arena = drv_arena_create();
    for (int i = 0; i < SCENES; i++) scenes[i] = scene_in(arena, &small.input);
    const uint64_t bytes = drv_scene_describe(scenes[0]).bytes;
    CHECK(bytes * SCENES > 2 * LARGE_PAGE, "%llu bytes a scene", (unsigned long long)bytes);
    drv_arena_free(arena);

    /* The last scenes alone keep no more than their own slab. */
    const allocated all = allocated_now();
    for (int i = 0; i < SCENES - 2; i++) drv_scene_release(scenes[i]);
    const allocated last = allocated_now();
    CHECK(last.mapped_bytes - before.mapped_bytes <= LARGE_PAGE, "%lld bytes", last.mapped_bytes);
    CHECK(last.mapped_bytes < all.mapped_bytes || last.heap_blocks < all.heap_blocks, "nothing was freed");
    CHECK(strcmp(scenes[SCENES - 1]->name, "small") == 0, "the last scene is gone");
    for (int i = SCENES - 2; i < SCENES; i++) drv_scene_release(scenes[i]);
    CHECK(is_same_as(before), "%lld bytes, %d blocks", allocated_now().mapped_bytes, allocated_now().heap_blocks);
}

TEST(memory_of_a_batch_is_freed_when_it_is_closed) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 2);
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_OK, "%s", test.message);
    void *block = aligned_alloc(BLOCK_ALIGNMENT, (size_t)test.needs.block_bytes);
    const allocated before = allocated_now();
    CHECK(drv_batch_create(&test.setup, block, test.needs.block_bytes, &test.batch, test.message) == DRV_OK, "%s",
          test.message);
    CHECK(!is_same_as(before), "the batch has no memory");
    drv_batch_close(test.batch);
    CHECK(allocated_now().mapped_bytes == before.mapped_bytes, "%lld bytes", allocated_now().mapped_bytes);
    CHECK(allocated_now().heap_blocks == before.heap_blocks + 1, "more than the handle is left");
    drv_batch_free(test.batch);
    CHECK(is_same_as(before), "%lld bytes, %d blocks", allocated_now().mapped_bytes, allocated_now().heap_blocks);
    drv_scene_release(test.scene);
    free(block);
}
