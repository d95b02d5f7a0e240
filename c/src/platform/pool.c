/* Which thread steps which world? A thread pool with work stealing.
 *
 * Several rounds of work may run at a time, each in its own queue. The items of a round are divided into one slice per
 * thread, the same ones every round, so that a core finds in its cache what it wrote in the last round; a thread that
 * has finished its own slice steals from the others. One 64-bit ticket per slice holds the round, the end of the slice
 * and the next item, so a claim is one atomic addition and cannot confuse two rounds. A round ends when all its items
 * are done, not when all threads have returned: a thread that sleeps or was preempted does not delay it. */
#include "platform/thread.h"

#include "platform/pool.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "platform/fp_env.h"

enum {
    index_bits = 24,
    end_bits = 24,
    /* A worker polls the slices for some 12 to 25 us before it sleeps, about the cost of waking it: spin then block. */
    polls_before_sleep = 20000,
    /* The caller spins this many times for the last items before it yields its core. */
    spins_before_yield = 1000
};

static const uint64_t index_mask = ((uint64_t)1 << index_bits) - 1;

/* Padded by two cache lines against false sharing. */
typedef struct slice {
    _Atomic uint64_t ticket;
    uint8_t padding[128];
} slice;

/* One round at a time. */
typedef struct queue {
    _Atomic int32_t done;
    int32_t count; /* of items in this round */
    drv_job *job;
    void *context;
    slice *slices; /* one per thread; the first is the caller's, which workers steal from if it does not take part */
    uint8_t padding[128];
} queue;

typedef struct worker {
    drv_pool *pool;
    int32_t number, slice; /* of the job's `worker`; of the slice that it begins with */
    drv_thread thread;
} worker;

struct drv_pool {
    int32_t threads, queue_count;
    queue *queues;
    slice *slices; /* of all queues */
    _Atomic int32_t started; /* number of workers; written under the mutex */
    worker *workers;
    _Atomic int32_t sleepers;
    atomic_bool stopping;
    drv_mutex mutex;
    drv_condition condition; /* there is work, or the pool stops */
};

static int32_t next_of(uint64_t ticket) { return (int32_t)(ticket & index_mask); }
static int32_t end_of(uint64_t ticket) { return (int32_t)(ticket >> index_bits & index_mask); }
static uint64_t round_of(uint64_t ticket) { return ticket >> (index_bits + end_bits); }
static bool has_items(uint64_t ticket) { return next_of(ticket) < end_of(ticket); }

/* Number of workers beside the callers; at least one, for rounds whose caller is not in the pool. */
static int32_t worker_limit(int32_t threads) { return threads > 1 ? threads - 1 : 1; }

/* Claims and runs items of a slice until none of that round is left. */
static void work_on_slice(queue *own, slice *from, uint64_t round, int32_t number) {
    for (;;) {
        const uint64_t current = atomic_load_explicit(&from->ticket, memory_order_relaxed);
        if (!has_items(current) || round_of(current) != round) return;
        const uint64_t claimed = atomic_fetch_add_explicit(&from->ticket, 1, memory_order_acquire);
        if (!has_items(claimed)) return;
        own->job(own->context, next_of(claimed), number);
        atomic_fetch_add_explicit(&own->done, 1, memory_order_release);
    }
}

/* The same for all slices of a queue, the thread's own first. A thread that is still scanning when the next round
 * begins claims nothing of it and returns, so that it begins that round with its own slice, too. */
static void work(const drv_pool *pool, queue *own, int32_t first_slice, int32_t number) {
    first_slice %= pool->threads;
    const uint64_t round = round_of(atomic_load_explicit(&own->slices[first_slice].ticket, memory_order_relaxed));
    for (int32_t i = 0; i < pool->threads; i++)
        work_on_slice(own, &own->slices[(first_slice + i) % pool->threads], round, number);
}

static bool has_work(const drv_pool *pool, queue *of) {
    for (int32_t i = 0; i < pool->threads; i++)
        if (has_items(atomic_load(&of->slices[i].ticket))) return true;
    return false;
}

/* Returns a queue that has work, or NULL. Scans round-robin from the one after `last`, so that no queue starves. */
static queue *queue_with_work(drv_pool *pool, int32_t last) {
    for (int32_t i = 1; i <= pool->queue_count; i++) {
        queue *found = &pool->queues[(last + i) % pool->queue_count];
        if (has_work(pool, found)) return found;
    }
    return NULL;
}

static void sleep_until_work(drv_pool *pool) {
    drv_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!queue_with_work(pool, 0) && !atomic_load(&pool->stopping))
        drv_condition_wait(&pool->condition, &pool->mutex);
    atomic_fetch_sub(&pool->sleepers, 1);
    drv_mutex_unlock(&pool->mutex);
}

static DRV_THREAD_MAIN(worker_main, argument) {
    const worker *own = argument;
    drv_pool *pool = own->pool;
    drv_fp_env_begin(); /* never ended: this thread has no caller's environment to restore */
    int32_t last = 0, polls = 0;
    while (!atomic_load_explicit(&pool->stopping, memory_order_relaxed)) {
        queue *found = queue_with_work(pool, last);
        if (found) {
            work(pool, found, own->slice, own->number);
            last = (int32_t)(found - pool->queues);
            polls = 0;
        } else if ((polls += pool->queue_count * pool->threads) > polls_before_sleep) {
            sleep_until_work(pool);
            polls = 0;
        }
    }
    return DRV_THREAD_RETURN;
}

static bool start_worker(drv_pool *pool) {
    const int32_t started = atomic_load(&pool->started);
    worker *next = &pool->workers[started];
    next->pool = pool;
    next->number = pool->queue_count + started;
    next->slice = 1 + started;
    if (!drv_thread_start(&next->thread, worker_main, next)) return false;
    atomic_store(&pool->started, started + 1);
    return true;
}

/* Starts workers until there are `wanted`. If the system refuses a thread, fewer run and rounds take longer. */
static void start_workers(drv_pool *pool, int32_t wanted) {
    if (atomic_load_explicit(&pool->started, memory_order_relaxed) >= wanted) return;
    const drv_signals saved = drv_signals_block();
    drv_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->started) < wanted && start_worker(pool)) {}
    drv_mutex_unlock(&pool->mutex);
    drv_signals_restore(saved);
}

static void init(drv_pool *pool) {
    for (int32_t i = 0; i < pool->queue_count; i++) atomic_init(&pool->queues[i].done, 0);
    for (int32_t i = 0; i < pool->queue_count * pool->threads; i++) atomic_init(&pool->slices[i].ticket, 0);
    atomic_init(&pool->started, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->stopping, false);
    drv_mutex_init(&pool->mutex);
    drv_condition_init(&pool->condition);
}

drv_pool *drv_pool_create(int32_t threads, int32_t queues) {
    drv_pool *pool = calloc(1, sizeof *pool);
    queue *all_queues = calloc((size_t)queues, sizeof *all_queues);
    slice *slices = calloc((size_t)queues * (size_t)threads, sizeof *slices);
    worker *workers = calloc((size_t)worker_limit(threads), sizeof *workers);
    if (!pool || !all_queues || !slices || !workers) {
        free(pool);
        free(all_queues);
        free(slices);
        free(workers);
        return NULL;
    }
    pool->threads = threads;
    pool->queue_count = queues;
    pool->queues = all_queues;
    pool->slices = slices;
    for (int32_t i = 0; i < queues; i++) all_queues[i].slices = slices + i * threads;
    pool->workers = workers;
    init(pool);
    return pool;
}

void drv_pool_free(drv_pool *pool) {
    if (!pool) return;
    drv_mutex_lock(&pool->mutex);
    atomic_store(&pool->stopping, true);
    drv_condition_broadcast(&pool->condition);
    drv_mutex_unlock(&pool->mutex);
    for (int32_t i = 0; i < atomic_load(&pool->started); i++) drv_thread_join(pool->workers[i].thread);
    drv_mutex_destroy(&pool->mutex);
    drv_condition_destroy(&pool->condition);
    free(pool->queues);
    free(pool->slices);
    free(pool->workers);
    free(pool);
}

int32_t drv_pool_workers(const drv_pool *pool) { return pool->queue_count + worker_limit(pool->threads); }

void drv_pool_yield(void) { drv_thread_yield(); }

void drv_pool_forked(drv_pool *pool) { init(pool); }

/* Returns the first item of a slice. Slices differ by at most one item. */
static int32_t slice_begin(const drv_pool *pool, int32_t count, int32_t index) {
    return (int32_t)((int64_t)count * index / pool->threads);
}

/* Publishes the items of a round to all workers and wakes sleeping ones. */
static void publish(drv_pool *pool, queue *own, drv_job *job, void *context, int32_t count) {
    own->job = job;
    own->context = context;
    own->count = count;
    atomic_store_explicit(&own->done, 0, memory_order_relaxed);
    /* the tickets last: they make the round visible */
    for (int32_t i = 0; i < pool->threads; i++) {
        _Atomic uint64_t *ticket = &own->slices[i].ticket;
        const uint64_t round = round_of(atomic_load_explicit(ticket, memory_order_relaxed)) + 1;
        const uint64_t end = (uint64_t)slice_begin(pool, count, i + 1);
        atomic_store(ticket, round << (index_bits + end_bits) | end << index_bits |
                                 (uint64_t)slice_begin(pool, count, i));
    }
    if (atomic_load(&pool->sleepers) > 0) {
        drv_mutex_lock(&pool->mutex);
        drv_condition_broadcast(&pool->condition);
        drv_mutex_unlock(&pool->mutex);
    }
}

static int32_t smaller(int32_t one, int32_t other) { return one < other ? one : other; }

void drv_pool_begin(drv_pool *pool, int32_t number, drv_job *job, void *context, int32_t count) {
    start_workers(pool, smaller(worker_limit(pool->threads), count));
    publish(pool, &pool->queues[number], job, context, count);
}

void drv_pool_end(drv_pool *pool, int32_t number) {
    queue *own = &pool->queues[number];
    work(pool, own, 0, number);
    for (int32_t spins = 0; atomic_load_explicit(&own->done, memory_order_acquire) < own->count;)
        if (spins < spins_before_yield) spins++;
        else drv_pool_yield();
}

void drv_pool_run(drv_pool *pool, int32_t number, drv_job *job, void *context, int32_t count) {
    if (pool->threads == 1 || count == 1) {
        for (int32_t i = 0; i < count; i++) job(context, i, number);
        return;
    }
    start_workers(pool, smaller(pool->threads, count) - 1);
    publish(pool, &pool->queues[number], job, context, count);
    drv_pool_end(pool, number);
}
