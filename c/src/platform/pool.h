/* Which thread steps which world? Persistent threads claim one item at a time, first of their own slice, then of
 * others.
 *
 * A *round* is one run of a job on all its items, such as a step of the worlds of a part. Each queue holds one round at
 * a time. */
#ifndef DRV_POOL_H
#define DRV_POOL_H

#include <stdint.h>

typedef struct drv_pool drv_pool;

/* Processes item `index`. `worker` is below drv_pool_workers and unique among the threads that run at the same time;
 * for the thread that runs or ends the round it is the queue's number. */
typedef void drv_job(void *context, int32_t index, int32_t worker);

/* Creates a pool of `threads` threads, the caller's included, with `queues` queues; rounds in different queues run
 * concurrently. Threads start with the first work for them. NULL if out of memory. */
drv_pool *drv_pool_create(int32_t threads, int32_t queues);
/* Ends the threads. No round may be running. */
void drv_pool_free(drv_pool *pool);
/* Bound on the `worker` of a job: the queues and the pool's own threads. */
int32_t drv_pool_workers(const drv_pool *pool);

/* Runs the job on items 0 .. count - 1, count below 2^24, and returns when all are done. Different queues may be used
 * by different threads at the same time. */
void drv_pool_run(drv_pool *pool, int32_t queue, drv_job *job, void *context, int32_t count);

/* The same in two parts. Between them threads - 1 workers run, but at least one. The thread that ends the round, which
 * may be another one, processes remaining items too. */
void drv_pool_begin(drv_pool *pool, int32_t queue, drv_job *job, void *context, int32_t count);
void drv_pool_end(drv_pool *pool, int32_t queue);

/* Yields this thread's core; call it between two polls of a state that another thread changes. */
void drv_pool_yield(void);

/* Resets the pool in a forked child, which has none of the threads and rounds; threads start with the next work. */
void drv_pool_forked(drv_pool *pool);

#endif
