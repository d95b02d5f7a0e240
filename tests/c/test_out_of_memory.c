/* What happens without memory, or without more threads? Each request of the core to the system is refused in turn.
 *
 * The leak sanitizer detects what is left behind. The functions below replace the core's;
 * link with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=mmap -Wl,--wrap=pthread_create
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "batch_fixture.h"
#include "check.h"
#include "drive.h"
#include "platform/arena.h"
#include "rng.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

/* Requests still to be granted before one is refused; below 0: all are granted. */
static atomic_int granted = -1;
static atomic_int refused;
static bool refuses_all_later;

static bool is_refused(void) {
    const int left = atomic_load(&granted);
    if (left < 0) return false;
    if (left > 0) {
        atomic_store(&granted, left - 1);
        return false;
    }
    atomic_fetch_add(&refused, 1);
    if (!refuses_all_later) atomic_store(&granted, -1);
    return true;
}

void *__wrap_malloc(size_t bytes) { return is_refused() ? NULL : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t bytes) { return is_refused() ? NULL : __real_calloc(count, bytes); }

void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int file, off_t offset) {
    return is_refused() ? MAP_FAILED : __real_mmap(at, bytes, access, flags, file, offset);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    return is_refused() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

static void refuse_after(int count, bool all_later) {
    refuses_all_later = all_later;
    atomic_store(&refused, 0);
    atomic_store(&granted, count);
}

/* Grants all requests again; returns whether one was refused. */
static bool refused_something(void) {
    atomic_store(&granted, -1);
    return atomic_load(&refused) > 0;
}

/* Refuses each request of a scene's creation once, with all later ones if `all_later`; returns their number. */
static int refuse_scene(bool all_later) {
    small_scene small;
    make_small(&small);
    for (int count = 0;; count++) {
        char message[DRV_MESSAGE_BYTES] = "";
        drv_scene *scene = NULL;
        refuse_after(count, all_later);
        const drv_status status = drv_scene_create(&small.input, NULL, &scene, message);
        if (!refused_something()) {
            CHECK(status == DRV_OK && scene, "%s", message);
            drv_scene_release(scene);
            return count;
        }
        CHECK(status == DRV_ERROR_MEMORY && !scene, "request %d: %d", count, status);
        CHECK(strstr(message, "small") && strstr(message, "no memory"), "request %d: %s", count, message);
    }
}

/* The same for a driver of the scene's agents. */
static int refuse_driver(bool all_later) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    int32_t point_start[SMALL_AGENTS + 1];
    float x_m[2 * SMALL_AGENTS], y_m[2 * SMALL_AGENTS], speed_mps[2 * SMALL_AGENTS];
    for (int32_t agent = 0; agent <= SMALL_AGENTS; agent++) point_start[agent] = 2 * agent;
    for (int32_t i = 0; i < 2 * SMALL_AGENTS; i++) {
        x_m[i] = y_m[i] = 4.0f * (float)i;
        speed_mps[i] = 9.0f;
    }
    const drv_lane_driver_setup setup = {.scene = test.scene, .point_start = point_start, .x_m = x_m, .y_m = y_m,
                                         .speed_mps = speed_mps, .goal_mps = 9.0f, .goal_reach_m = 2.0f};
    int count = 0;
    for (bool granted_all = false; !granted_all; count++) {
        drv_lane_driver *driver = NULL;
        refuse_after(count, all_later);
        const drv_status status = drv_lane_driver_create(&setup, &driver, test.message);
        granted_all = !refused_something();
        CHECK(status == (granted_all ? DRV_OK : DRV_ERROR_MEMORY), "request %d: %d", count, status);
        CHECK((driver != NULL) == granted_all, "request %d", count);
        CHECK(granted_all || strstr(test.message, "no memory"), "request %d: %s", count, test.message);
        drv_lane_driver_free(driver);
    }
    drv_scene_release(test.scene);
    return count - 1;
}

TEST(a_large_allocation_without_memory_returns_null) {
    const uint64_t large = 3 << 20;
    refuse_after(0, false);
    CHECK(!drv_memory_acquire(NULL, large) && refused_something(), "it found memory");
    void *memory = drv_memory_acquire(NULL, large);
    CHECK(memory, "there is none");
    drv_memory_release(memory);
}

TEST(a_scene_without_memory_is_an_error_and_leaves_nothing) {
    CHECK(refuse_scene(false) >= 2, "%d requests", refuse_scene(false));
    CHECK(refuse_scene(true) == refuse_scene(false), "%d requests", refuse_scene(true));
}

TEST(a_driver_without_memory_is_an_error_and_leaves_nothing) {
    CHECK(refuse_driver(false) >= 3, "%d requests", refuse_driver(false));
    CHECK(refuse_driver(true) == refuse_driver(false), "%d requests", refuse_driver(true));
}

static int refuse_batch(bool all_later, int32_t threads) {
    batch_fixture test;
    set_up_scene(&test, small_config(), threads);
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_OK, "%s", test.message);
    void *block = aligned_alloc(BLOCK_ALIGNMENT, (size_t)test.needs.block_bytes);
    int count = 0;
    for (bool granted_all = false; !granted_all; count++) {
        drv_batch *batch = NULL;
        refuse_after(count, all_later);
        const drv_status status =
            drv_batch_create(&test.setup, block, test.needs.block_bytes, &batch, test.message);
        granted_all = !refused_something();
        CHECK(status == (granted_all ? DRV_OK : DRV_ERROR_MEMORY), "request %d: %d", count, status);
        CHECK((batch != NULL) == granted_all, "request %d", count);
        CHECK(granted_all || strstr(test.message, "no memory"), "request %d: %s", count, test.message);
        drv_batch_free(batch);
    }
    free(block);
    drv_scene_release(test.scene);
    return count - 1;
}

TEST(a_batch_without_memory_is_an_error_and_leaves_nothing) {
    for (int32_t threads = 1; threads <= 4; threads += 3) {
        CHECK(refuse_batch(false, threads) >= 7, "%d requests", refuse_batch(false, threads));
        CHECK(refuse_batch(true, threads) == refuse_batch(false, threads), "%d requests", refuse_batch(true, threads));
    }
}

/* Resets and steps a batch; refuses request number `count`, with all later ones if `all_later`; below 0 none. */
static void step_refused(batch_fixture *test, int count, bool all_later) {
    test_rng rng = {9};
    refuse_after(count, all_later);
    reset_batch(test);
    for (int32_t call = 0; call < 30; call++) {
        act(test, rng_below(&rng, ACCELERATION_BINS), rng_below(&rng, STEERING_BINS));
        step_batch(test);
    }
}

TEST(fewer_threads_than_requested_give_the_same_bytes) {
    batch_fixture all_threads;
    set_up(&all_threads, small_config(), 3);
    step_refused(&all_threads, -1, false);
    for (int all_later = 0; all_later < 2; all_later++) {
        bool some = true;
        for (int count = 0; some; count++) {
            batch_fixture fewer;
            set_up(&fewer, small_config(), 3);
            step_refused(&fewer, count, all_later != 0);
            some = refused_something();
            const size_t bytes = (size_t)all_threads.needs.block_bytes;
            CHECK(memcmp(all_threads.block, fewer.block, bytes) == 0, "request %d", count);
            CHECK(count < 4 || !some, "request %d of two threads", count);
            tear_down(&fewer);
        }
    }
    tear_down(&all_threads);
}

static void step_in_flight(batch_fixture *test) {
    act(test, COAST, STRAIGHT);
    CHECK(drv_batch_step_async(test->batch, DRV_WHOLE_BATCH, NULL, test->message) == DRV_OK, "%s", test->message);
    CHECK(drv_batch_wait(test->batch, DRV_WHOLE_BATCH, test->message) == DRV_OK, "%s", test->message);
}

TEST(a_step_allocates_nothing_once_threads_have_started) {
    for (int32_t threads = 1; threads <= 3; threads++) {
        batch_fixture test;
        set_up(&test, small_config(), threads);
        step_refused(&test, -1, false);
        step_in_flight(&test);
        step_refused(&test, 0, true);
        step_in_flight(&test);
        CHECK(!refused_something(), "%d requests", atomic_load(&refused));
        tear_down(&test);
    }
}

TEST(a_step_in_flight_without_a_worker_runs_in_the_waiting_thread) {
    batch_fixture test;
    set_up(&test, small_config(), 1); /* of one thread: none was started for the reset */
    reset_batch(&test);
    refuse_after(0, true);
    for (int32_t call = 1; call <= 5; call++) {
        step_in_flight(&test);
        CHECK(test.arrays.trial_ended[0] == (call == 5), "call %d", call);
    }
    CHECK(refused_something(), "it found a thread");
    tear_down(&test);
}
