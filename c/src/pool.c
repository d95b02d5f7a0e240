/* Which thread steps which world?
 *
 * One 64-bit ticket holds the round, how many items it has and which is next, so a claim is one atomic addition and
 * cannot mistake one round for another. A round is over when all its items are done, not when all threads are back: a
 * thread that sleeps or was taken off its core holds nothing up. */
#include "thread.h"

#include "pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "rounding.h"

enum {
    index_bits = 24,
    count_bits = 24,
    /* About 20 us of looking for the next round before a worker sleeps; waking one costs as much. */
    spins_before_sleep = 4000,
    /* The caller spins this long for the last items before it lets others have its core. */
    spins_before_yield = 1000
};

static const uint64_t index_mask = ((uint64_t)1 << index_bits) - 1;

struct drv_pool {
    int32_t threads;
    int32_t started; /* workers 1 .. started run */
    drv_thread *handles;
    _Atomic uint64_t ticket;
    _Atomic int32_t done;
    _Atomic int32_t sleepers;
    atomic_bool stopping;
    drv_job *job;
    void *context;
    drv_lock lock;
    drv_wake wake;
};

typedef struct worker_start {
    drv_pool *pool;
    int32_t worker;
} worker_start;

static int32_t next_of(uint64_t ticket) { return (int32_t)(ticket & index_mask); }
static int32_t count_of(uint64_t ticket) { return (int32_t)(ticket >> index_bits & index_mask); }
static uint64_t round_of(uint64_t ticket) { return ticket >> (index_bits + count_bits); }
static bool has_work(uint64_t ticket) { return next_of(ticket) < count_of(ticket); }

/* Claims and runs items until none is left. */
static void work(drv_pool *pool, int32_t worker) {
    while (has_work(atomic_load_explicit(&pool->ticket, memory_order_relaxed))) {
        uint64_t claimed = atomic_fetch_add_explicit(&pool->ticket, 1, memory_order_acquire);
        if (!has_work(claimed)) return;
        pool->job(pool->context, next_of(claimed), worker);
        atomic_fetch_add_explicit(&pool->done, 1, memory_order_release);
    }
}

static void sleep_until_work(drv_pool *pool) {
    drv_lock_take(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!has_work(atomic_load(&pool->ticket)) && !atomic_load(&pool->stopping))
        drv_wake_await(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    drv_lock_give(&pool->lock);
}

static DRV_THREAD_MAIN(worker_main, argument) {
    worker_start start = *(worker_start *)argument;
    free(argument);
    drv_pool *pool = start.pool;
    drv_rounding_begin(); /* for good: this thread has no caller */
    int32_t spins = 0;
    while (!atomic_load_explicit(&pool->stopping, memory_order_relaxed)) {
        if (has_work(atomic_load_explicit(&pool->ticket, memory_order_relaxed))) {
            work(pool, start.worker);
            spins = 0;
        } else if (++spins > spins_before_sleep) {
            sleep_until_work(pool);
            spins = 0;
        }
    }
    return DRV_THREAD_OVER;
}

static bool start_worker(drv_pool *pool) {
    worker_start *start = malloc(sizeof *start);
    if (!start) return false;
    *start = (worker_start){pool, pool->started + 1};
    if (!drv_thread_start(&pool->handles[pool->started], worker_main, start)) {
        free(start);
        return false;
    }
    pool->started++;
    return true;
}

/* As many workers as there is work for; fewer run, more slowly, where the system gives no more threads. */
static void start_workers(drv_pool *pool, int32_t items) {
    const int32_t wanted = (pool->threads < items ? pool->threads : items) - 1;
    if (pool->started >= wanted) return;
    const drv_signals callers = drv_signals_keep_off();
    while (pool->started < wanted && start_worker(pool)) {}
    drv_signals_restore(callers);
}

static void begin(drv_pool *pool) {
    pool->started = 0;
    atomic_init(&pool->ticket, 0);
    atomic_init(&pool->done, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->stopping, false);
    drv_lock_begin(&pool->lock);
    drv_wake_begin(&pool->wake);
}

drv_pool *drv_pool_create(int32_t threads) {
    drv_pool *pool = calloc(1, sizeof *pool);
    drv_thread *handles = calloc((size_t)threads, sizeof *handles);
    if (!pool || !handles) {
        free(pool);
        free(handles);
        return NULL;
    }
    pool->threads = threads;
    pool->handles = handles;
    begin(pool);
    return pool;
}

void drv_pool_free(drv_pool *pool) {
    if (!pool) return;
    drv_lock_take(&pool->lock);
    atomic_store(&pool->stopping, true);
    drv_wake_all(&pool->wake);
    drv_lock_give(&pool->lock);
    for (int32_t i = 0; i < pool->started; i++) drv_thread_join(pool->handles[i]);
    drv_lock_end(&pool->lock);
    drv_wake_end(&pool->wake);
    free(pool->handles);
    free(pool);
}

void drv_pool_let_others_run(void) { drv_thread_yield(); }

void drv_pool_forked(drv_pool *pool) { begin(pool); }

void drv_pool_run(drv_pool *pool, drv_job *job, void *context, int32_t count) {
    if (pool->threads == 1 || count == 1) {
        for (int32_t i = 0; i < count; i++) job(context, i, 0);
        return;
    }
    start_workers(pool, count);
    pool->job = job;
    pool->context = context;
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    const uint64_t round = round_of(atomic_load_explicit(&pool->ticket, memory_order_relaxed)) + 1;
    atomic_store(&pool->ticket, round << (index_bits + count_bits) | (uint64_t)count << index_bits);
    if (atomic_load(&pool->sleepers) > 0) {
        drv_lock_take(&pool->lock);
        drv_wake_all(&pool->wake);
        drv_lock_give(&pool->lock);
    }
    work(pool, 0);
    for (int32_t spins = 0; atomic_load_explicit(&pool->done, memory_order_acquire) < count; spins++)
        if (spins > spins_before_yield) drv_pool_let_others_run();
}
