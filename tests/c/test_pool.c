/* Is every item run exactly once, on any number of threads and with any number of rounds in flight? */
#include "platform/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "rng.h"

enum { ITEM_CAPACITY = 3000 };

typedef struct tally {
    int32_t threads;
    int32_t done[ITEM_CAPACITY]; /* plain: no two threads may touch one */
    atomic_int invalid_workers;
} tally;

static void count_item(void *context, int32_t index, int32_t worker) {
    tally *sum = context;
    sum->done[index]++;
    if (worker < 0 || worker >= sum->threads) atomic_fetch_add(&sum->invalid_workers, 1);
}

static void check_rounds(int32_t threads, const int32_t *counts, int32_t rounds) {
    drv_pool *pool = drv_pool_create(threads, 1);
    tally *sum = calloc(1, sizeof *sum);
    sum->threads = threads;
    CHECK(pool != NULL, "no pool of %d", threads);
    int64_t wanted = 0, found = 0;
    for (int32_t round = 0; round < rounds; round++) {
        drv_pool_run(pool, 0, count_item, sum, counts[round]);
        wanted += counts[round];
    }
    for (int32_t i = 0; i < ITEM_CAPACITY; i++) {
        int32_t expected = 0;
        for (int32_t round = 0; round < rounds; round++) expected += i < counts[round];
        CHECK(sum->done[i] == expected, "%d threads: item %d was done %d times, not %d", threads, i, sum->done[i],
              expected);
        found += sum->done[i];
    }
    CHECK(found == wanted, "%lld of %lld", (long long)found, (long long)wanted);
    CHECK(atomic_load(&sum->invalid_workers) == 0, "%d", atomic_load(&sum->invalid_workers));
    free(sum);
    drv_pool_free(pool);
}

TEST(every_item_is_done_once_on_any_number_of_threads) {
    test_rng rng = {61};
    int32_t counts[60];
    for (int32_t threads = 1; threads <= 9; threads++) {
        for (int32_t round = 0; round < 60; round++)
            counts[round] = rng_below(&rng, round % 3 ? 12 : ITEM_CAPACITY + 1);
        check_rounds(threads, counts, 60);
    }
}

TEST(a_pool_without_items_starts_and_ends) {
    for (int32_t threads = 1; threads <= 64; threads *= 4) check_rounds(threads, NULL, 0);
    const int32_t nothing[] = {0, 1, 0, 1};
    check_rounds(4, nothing, 4);
    drv_pool_free(NULL);
}

/* A slice's ticket holds the round in 16 bits, which overflow here. */
TEST(seventy_thousand_rounds_are_not_confused) {
    enum { ROUNDS = 70000 };
    drv_pool *pool = drv_pool_create(3, 1);
    tally *sum = calloc(1, sizeof *sum);
    sum->threads = 3;
    for (int32_t round = 0; round < ROUNDS; round++) drv_pool_run(pool, 0, count_item, sum, 2 + round % 3);
    CHECK(sum->done[0] == ROUNDS && sum->done[1] == ROUNDS, "%d, %d of %d", sum->done[0], sum->done[1], ROUNDS);
    int32_t thirds = 0;
    for (int32_t round = 0; round < ROUNDS; round++) thirds += round % 3 == 2;
    CHECK(sum->done[3] == thirds, "%d of %d", sum->done[3], thirds);
    free(sum);
    drv_pool_free(pool);
}

static void *drive_a_pool(void *argument) {
    (void)argument;
    const int32_t counts[] = {7, 500, 3, 64, 2, 1000};
    check_rounds(3, counts, 6);
    return NULL;
}

TEST(two_pools_of_two_callers_are_independent) {
    pthread_t callers[3];
    for (int32_t i = 0; i < 3; i++) pthread_create(&callers[i], NULL, drive_a_pool, NULL);
    for (int32_t i = 0; i < 3; i++) pthread_join(callers[i], NULL);
}

static void sleep_2_ms(void *context, int32_t index, int32_t worker) {
    (void)worker;
    /* Long enough for the other workers to find no item and sleep. */
    usleep(2000);
    ((int32_t *)context)[index]++;
}

TEST(sleeping_workers_are_woken) {
    drv_pool *pool = drv_pool_create(4, 1);
    int32_t done[4] = {0};
    for (int32_t round = 0; round < 20; round++) {
        drv_pool_run(pool, 0, sleep_2_ms, done, 4);
        usleep(1000);
    }
    for (int32_t i = 0; i < 4; i++) CHECK(done[i] == 20, "item %d: %d", i, done[i]);
    drv_pool_free(pool);
}

#if !defined(__SANITIZE_THREAD__) /* which lets no forked child start threads */
TEST(a_forked_child_starts_threads_of_its_own) {
    drv_pool *pool = drv_pool_create(4, 1);
    int32_t done[8] = {0};
    drv_pool_run(pool, 0, sleep_2_ms, done, 8);
    const pid_t child = fork();
    if (child == 0) {
        drv_pool_forked(pool);
        for (int32_t round = 0; round < 50; round++) drv_pool_run(pool, 0, sleep_2_ms, done, 8);
        int32_t right = 1;
        for (int32_t i = 0; i < 8; i++) right &= done[i] == 51;
        drv_pool_free(pool);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    drv_pool_run(pool, 0, sleep_2_ms, done, 8);
    for (int32_t i = 0; i < 8; i++) CHECK(done[i] == 2, "item %d: %d", i, done[i]);
    drv_pool_free(pool);
}
#endif

/* ---- slices ---- */

enum { SLICES = 4 };

typedef struct barrier {
    atomic_int arrived;
    int32_t worker[SLICES];
} barrier;

/* No item ends before all threads have one, so each thread has one, and begins with its own slice. */
static void wait_for_all(void *context, int32_t index, int32_t worker) {
    barrier *all = context;
    all->worker[index] = worker;
    atomic_fetch_add(&all->arrived, 1);
    while (atomic_load(&all->arrived) < SLICES) usleep(10);
}

TEST(a_thread_keeps_its_slice) {
    enum { ROUNDS = 200 };
    drv_pool *pool = drv_pool_create(SLICES, 1);
    int32_t own = 0;
    for (int32_t round = 0; round < ROUNDS; round++) {
        barrier all;
        atomic_init(&all.arrived, 0);
        drv_pool_run(pool, 0, wait_for_all, &all, SLICES);
        for (int32_t i = 0; i < SLICES; i++) own += all.worker[i] == i;
        usleep(300); /* a worker that still scans the previous round would begin with another slice */
    }
    CHECK(own > SLICES * ROUNDS * 3 / 4, "%d of %d", own, SLICES * ROUNDS);
    drv_pool_free(pool);
}

/* ---- rounds that are begun and ended apart ---- */

enum { QUEUES = 4, NUMBERS = 64, TIMEOUT_US = 20000000 };

/* The items of a queue, and the workers busy with those of all queues. */
typedef struct queue_tally {
    int32_t done[ITEM_CAPACITY]; /* plain: no two threads may touch one */
    atomic_int count;
    atomic_int *at_work; /* NUMBERS entries, shared by all queues: how many threads work under each number */
    atomic_int *shared;
} queue_tally;

static void count_in_queue(void *context, int32_t index, int32_t worker) {
    queue_tally *sum = context;
    atomic_fetch_add(sum->shared, atomic_fetch_add(&sum->at_work[worker], 1) != 0);
    sum->done[index]++;
    if (index % 16 == 0) usleep(20); /* else no other thread would be observed at work */
    atomic_fetch_add(&sum->count, 1);
    atomic_fetch_sub(&sum->at_work[worker], 1);
}

typedef struct queue_caller {
    drv_pool *pool;
    queue_tally *sum;
    int32_t queue, rounds, items;
} queue_caller;

static void *call_a_queue(void *argument) {
    queue_caller *self = argument;
    test_rng rng = {71 + (uint64_t)self->queue};
    for (int32_t round = 0; round < self->rounds; round++) {
        const int32_t count = rng_below(&rng, round % 3 ? 9 : 300);
        self->items += count;
        if (rng_below(&rng, 2)) {
            drv_pool_run(self->pool, self->queue, count_in_queue, self->sum, count);
        } else {
            drv_pool_begin(self->pool, self->queue, count_in_queue, self->sum, count);
            if (rng_below(&rng, 2)) usleep(50);
            drv_pool_end(self->pool, self->queue);
        }
    }
    return NULL;
}

TEST(concurrent_callers_use_queues_of_their_own_and_no_two_threads_have_one_worker_number) {
    for (int32_t threads = 1; threads <= 5; threads += 2) {
        drv_pool *pool = drv_pool_create(threads, QUEUES);
        atomic_int at_work[NUMBERS] = {0}, shared = 0;
        queue_tally *sums = calloc(QUEUES, sizeof *sums);
        queue_caller callers[QUEUES];
        pthread_t running[QUEUES];
        CHECK(drv_pool_workers(pool) <= NUMBERS, "%d numbers", drv_pool_workers(pool));
        for (int32_t i = 0; i < QUEUES; i++) {
            sums[i].at_work = at_work;
            sums[i].shared = &shared;
            callers[i] = (queue_caller){pool, &sums[i], i, 200, 0};
            pthread_create(&running[i], NULL, call_a_queue, &callers[i]);
        }
        for (int32_t i = 0; i < QUEUES; i++) pthread_join(running[i], NULL);
        for (int32_t i = 0; i < QUEUES; i++)
            CHECK(atomic_load(&sums[i].count) == callers[i].items, "queue %d: %d of %d items", i,
                  atomic_load(&sums[i].count), callers[i].items);
        CHECK(atomic_load(&shared) == 0, "%d items ran under a worker number that was already at work",
              atomic_load(&shared));
        free(sums);
        drv_pool_free(pool);
    }
}

TEST(rounds_begun_in_any_order_end_in_any_order) {
    test_rng rng = {62};
    for (int32_t threads = 1; threads <= 4; threads++) {
        /* a tally of each queue */
        drv_pool *pool = drv_pool_create(threads, QUEUES);
        tally *sums = calloc(QUEUES, sizeof *sums);
        int32_t wanted[QUEUES] = {0};
        for (int32_t i = 0; i < QUEUES; i++) sums[i].threads = drv_pool_workers(pool);
        for (int32_t round = 0; round < 200; round++) {
            /* begun upwards from one queue, ended downwards from another */
            const int32_t first = rng_below(&rng, QUEUES), last = rng_below(&rng, QUEUES), count = 1 + round % 40;
            for (int32_t i = 0; i < QUEUES; i++) {
                const int32_t queue = (first + i) % QUEUES;
                drv_pool_begin(pool, queue, count_item, &sums[queue], count);
            }
            for (int32_t i = 0; i < QUEUES; i++) {
                const int32_t queue = (last + QUEUES - i) % QUEUES;
                drv_pool_end(pool, queue);
                wanted[queue]++;
                CHECK(sums[queue].done[0] == wanted[queue], "queue %d ended early", queue);
            }
        }
        /* Item 0 is in all 200 rounds, item 39 in each fortieth. */
        for (int32_t i = 0; i < QUEUES; i++) {
            CHECK(sums[i].done[0] == 200 && sums[i].done[39] == 5, "queue %d: %d, %d", i, sums[i].done[0],
                  sums[i].done[39]);
            CHECK(atomic_load(&sums[i].invalid_workers) == 0, "%d", atomic_load(&sums[i].invalid_workers));
        }
        free(sums);
        drv_pool_free(pool);
    }
}

static void count_for_all(void *context, int32_t index, int32_t worker) {
    (void)index;
    (void)worker;
    atomic_fetch_add((atomic_int *)context, 1);
}

TEST(workers_complete_a_round_that_no_caller_waits_for) {
    for (int32_t threads = 1; threads <= 4; threads++) {
        drv_pool *pool = drv_pool_create(threads, 2);
        for (int32_t round = 0; round < 20; round++) {
            atomic_int done[2] = {0, 0};
            for (int32_t queue = 0; queue < 2; queue++)
                drv_pool_begin(pool, queue, count_for_all, &done[queue], 1 + round);
            /* No thread waits for the round; now and then all workers sleep before the next one. */
            for (int32_t queue = 0; queue < 2; queue++)
                for (int32_t us = 0; atomic_load(&done[queue]) <= round && us < TIMEOUT_US; us += 100) usleep(100);
            for (int32_t queue = 0; queue < 2; queue++) {
                CHECK(atomic_load(&done[queue]) == 1 + round, "%d threads, queue %d: %d of %d", threads, queue,
                      atomic_load(&done[queue]), 1 + round);
                drv_pool_end(pool, queue);
            }
            if (round % 2) usleep(1000);
        }
        drv_pool_free(pool);
    }
}

typedef struct mask_check {
    sigset_t callers;
    atomic_int inspected, wrong;
} mask_check;

static void inspect_mask(void *context, int32_t index, int32_t worker) {
    mask_check *check = context;
    sigset_t mask;
    (void)index;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    const int sent[] = {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGHUP}, faults[] = {SIGSEGV, SIGFPE, SIGBUS};
    for (size_t i = 0; worker > 0 && i < sizeof sent / sizeof *sent; i++)
        atomic_fetch_add(&check->wrong, !sigismember(&mask, sent[i]));
    for (size_t i = 0; worker > 0 && i < sizeof faults / sizeof *faults; i++)
        atomic_fetch_add(&check->wrong, sigismember(&mask, faults[i]));
    for (int number = 1; worker == 0 && number < NSIG; number++)
        atomic_fetch_add(&check->wrong, sigismember(&mask, number) != sigismember(&check->callers, number));
    atomic_fetch_add(&check->inspected, worker > 0);
    usleep(500); /* so that each thread gets its share */
}

TEST(workers_block_all_signals_but_those_of_faults) {
    mask_check check = {.inspected = 0};
    pthread_sigmask(SIG_SETMASK, NULL, &check.callers);
    drv_pool *pool = drv_pool_create(4, 1);
    for (int32_t round = 0; round < 10; round++) drv_pool_run(pool, 0, inspect_mask, &check, 8);
    CHECK(atomic_load(&check.inspected) > 0, "no item ran on a worker");
    CHECK(atomic_load(&check.wrong) == 0, "%d", atomic_load(&check.wrong));
    drv_pool_free(pool);
}
