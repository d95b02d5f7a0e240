/* Which thread steps which world? Persistent threads that claim worlds one at a time, of their own slice first. */
#ifndef DRV_POOL_H
#define DRV_POOL_H

#include <stdint.h>

typedef struct drv_pool drv_pool;

/* The work on item `index`. No two threads at work at the same time have the same `worker`, which is the queue's number
 * for whoever runs or ends the round, and below drv_pool_workers for all. */
typedef void drv_job(void *context, int32_t index, int32_t worker);

/* A pool of `threads`, a caller's own among them, with so many queues; a round in one queue is under way beside those
 * in the others. No thread is started before there is work for it. NULL if there is no memory. */
drv_pool *drv_pool_create(int32_t threads, int32_t queues);
/* No round may be under way. */
void drv_pool_free(drv_pool *pool);
int32_t drv_pool_workers(const drv_pool *pool);

/* Runs the job on items 0 .. count - 1, count below 2^24, and returns when all are done. Each queue may have a caller
 * of its own at the same time. */
void drv_pool_run(drv_pool *pool, int32_t queue, drv_job *job, void *context, int32_t count);

/* The same in two parts. Between them the caller is elsewhere and threads - 1 others are at work, but at least one; who
 * ends the round, in whichever thread, helps with the items that are left. */
void drv_pool_begin(drv_pool *pool, int32_t queue, drv_job *job, void *context, int32_t count);
void drv_pool_end(drv_pool *pool, int32_t queue);

/* Gives this thread's core to others for a moment: what to do between two looks at what another thread holds. */
void drv_pool_yield(void);

/* In a forked child: the threads are gone, and all rounds with them; start anew when there is work. */
void drv_pool_forked(drv_pool *pool);

#endif
