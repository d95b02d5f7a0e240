/* Which thread steps which world? Persistent threads that claim worlds one at a time. */
#ifndef DRV_POOL_H
#define DRV_POOL_H

#include <stdint.h>

typedef struct drv_pool drv_pool;

/* The work on item `index`; `worker` is 0 for the caller's thread, else 1 .. threads - 1. */
typedef void drv_job(void *context, int32_t index, int32_t worker);

/* A pool of `threads` workers, the caller's own thread among them; none is started before there is work for it.
 * NULL if there is no memory. */
drv_pool *drv_pool_create(int32_t threads);
void drv_pool_free(drv_pool *pool);

/* Runs the job on items 0 .. count - 1, count below 2^24, and returns when all are done. */
void drv_pool_run(drv_pool *pool, drv_job *job, void *context, int32_t count);

/* Gives this thread's core to others for a moment: what to do between two looks at what another thread holds. */
void drv_pool_let_others_run(void);

/* In a forked child: the threads are gone, start anew when there is work. */
void drv_pool_forked(drv_pool *pool);

#endif
