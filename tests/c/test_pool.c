/* Is every item done exactly once, whatever the number of threads? */
#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "dice.h"

enum { ITEM_ROOM = 3000 };

typedef struct tally {
    int32_t threads;
    int32_t done[ITEM_ROOM]; /* plain: no two threads may touch one */
    atomic_int strange_workers;
} tally;

static void count_item(void *context, int32_t index, int32_t worker) {
    tally *sum = context;
    sum->done[index]++;
    if (worker < 0 || worker >= sum->threads) atomic_fetch_add(&sum->strange_workers, 1);
}

static void check_rounds(int32_t threads, const int32_t *counts, int32_t rounds) {
    drv_pool *pool = drv_pool_create(threads);
    tally *sum = calloc(1, sizeof *sum);
    sum->threads = threads;
    CHECK(pool != NULL, "no pool of %d", threads);
    int64_t wanted = 0, found = 0;
    for (int32_t round = 0; round < rounds; round++) {
        drv_pool_run(pool, count_item, sum, counts[round]);
        wanted += counts[round];
    }
    for (int32_t i = 0; i < ITEM_ROOM; i++) {
        int32_t expected = 0;
        for (int32_t round = 0; round < rounds; round++) expected += i < counts[round];
        CHECK(sum->done[i] == expected, "%d threads: item %d was done %d times, not %d", threads, i, sum->done[i],
              expected);
        found += sum->done[i];
    }
    CHECK(found == wanted, "%lld of %lld", (long long)found, (long long)wanted);
    CHECK(atomic_load(&sum->strange_workers) == 0, "%d", atomic_load(&sum->strange_workers));
    free(sum);
    drv_pool_free(pool);
}

TEST(every_item_is_done_once_on_any_number_of_threads) {
    dice die = {61};
    int32_t counts[60];
    for (int32_t threads = 1; threads <= 9; threads++) {
        for (int32_t round = 0; round < 60; round++) counts[round] = dice_below(&die, round % 3 ? 12 : ITEM_ROOM + 1);
        check_rounds(threads, counts, 60);
    }
}

TEST(a_pool_that_never_works_starts_and_ends) {
    for (int32_t threads = 1; threads <= 64; threads *= 4) check_rounds(threads, NULL, 0);
    const int32_t nothing[] = {0, 1, 0, 1};
    check_rounds(4, nothing, 4);
    drv_pool_free(NULL);
}

/* The round stands in 16 bits of the ticket: here it goes round them. */
TEST(seventy_thousand_rounds_are_told_apart) {
    enum { ROUNDS = 70000 };
    drv_pool *pool = drv_pool_create(3);
    tally *sum = calloc(1, sizeof *sum);
    sum->threads = 3;
    for (int32_t round = 0; round < ROUNDS; round++) drv_pool_run(pool, count_item, sum, 2 + round % 3);
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

TEST(two_pools_of_two_callers_do_not_meet) {
    pthread_t callers[3];
    for (int32_t i = 0; i < 3; i++) pthread_create(&callers[i], NULL, drive_a_pool, NULL);
    for (int32_t i = 0; i < 3; i++) pthread_join(callers[i], NULL);
}

static void nap(void *context, int32_t index, int32_t worker) {
    (void)worker;
    /* Long enough for the others to find nothing left and fall asleep. */
    usleep(2000);
    ((int32_t *)context)[index]++;
}

TEST(workers_that_fell_asleep_are_woken) {
    drv_pool *pool = drv_pool_create(4);
    int32_t done[4] = {0};
    for (int32_t round = 0; round < 20; round++) {
        drv_pool_run(pool, nap, done, 4);
        usleep(1000);
    }
    for (int32_t i = 0; i < 4; i++) CHECK(done[i] == 20, "item %d: %d", i, done[i]);
    drv_pool_free(pool);
}

#if !defined(__SANITIZE_THREAD__) /* which lets no forked child start threads */
TEST(a_forked_child_starts_threads_of_its_own) {
    drv_pool *pool = drv_pool_create(4);
    int32_t done[8] = {0};
    drv_pool_run(pool, nap, done, 8);
    const pid_t child = fork();
    if (child == 0) {
        drv_pool_forked(pool);
        for (int32_t round = 0; round < 50; round++) drv_pool_run(pool, nap, done, 8);
        int32_t right = 1;
        for (int32_t i = 0; i < 8; i++) right &= done[i] == 51;
        drv_pool_free(pool);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %d", status);
    drv_pool_run(pool, nap, done, 8);
    for (int32_t i = 0; i < 8; i++) CHECK(done[i] == 2, "item %d: %d", i, done[i]);
    drv_pool_free(pool);
}
#endif

typedef struct mask_check {
    sigset_t callers;
    atomic_int looked, wrong;
} mask_check;

static void look_at_mask(void *context, int32_t index, int32_t worker) {
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
    atomic_fetch_add(&check->looked, worker > 0);
    usleep(500); /* so that each thread gets its share */
}

TEST(signals_are_for_the_callers_threads_and_faults_for_whoever_has_them) {
    mask_check check = {.looked = 0};
    pthread_sigmask(SIG_SETMASK, NULL, &check.callers);
    drv_pool *pool = drv_pool_create(4);
    for (int32_t round = 0; round < 10; round++) drv_pool_run(pool, look_at_mask, &check, 8);
    CHECK(atomic_load(&check.looked) > 0, "no worker worked");
    CHECK(atomic_load(&check.wrong) == 0, "%d", atomic_load(&check.wrong));
    drv_pool_free(pool);
}
