/* What time is it? Read for the optional timing of phases only; no state depends on it. C11 has no monotonic clock, so
 * a time is wrong if the system clock is set meanwhile. */
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
