/* What time is it? Read only to measure, when asked; never into state. C11 has no clock that cannot be set, so a time
 * measured while somebody sets it is wrong. */
#ifndef DRV_CLOCK_H
#define DRV_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t drv_clock_ns(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#endif
