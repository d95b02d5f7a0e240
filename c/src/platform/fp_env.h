/* How does the processor round while the core computes?
 *
 * A library built with -ffast-math makes the thread that loads it flush tiny numbers to zero, others leave another
 * rounding mode or traps behind. Whatever computes does so between these two calls: to the nearest, ties to even, tiny
 * numbers kept, no traps. The caller gets its own mode back, its exception flags untouched. */
#ifndef DRV_FP_ENV_H
#define DRV_FP_ENV_H

#if defined(__SSE2__)
#include <immintrin.h>

typedef unsigned int drv_fp_env;

static inline drv_fp_env drv_fp_env_begin(void) {
    /* What a process starts with: all exceptions masked, nothing else set. */
    const drv_fp_env standard = 0x1f80, callers = _mm_getcsr();
    _mm_setcsr(standard);
    return callers;
}

static inline void drv_fp_env_end(drv_fp_env callers) { _mm_setcsr(callers); }

#else
#include <fenv.h>

typedef fenv_t drv_fp_env;

static inline drv_fp_env drv_fp_env_begin(void) {
    fenv_t callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV);
    return callers;
}

static inline void drv_fp_env_end(drv_fp_env callers) { fesetenv(&callers); }

#endif

#endif
