/* Which floating-point environment does the core compute in?
 *
 * Loading a library built with -ffast-math makes the thread flush denormals to zero; other libraries leave another
 * rounding mode or unmasked traps. All computation therefore runs between these two calls: round to nearest, ties to
 * even, denormals kept, no traps. The second call restores the caller's environment, exception flags included. */
#ifndef DRV_FP_ENV_H
#define DRV_FP_ENV_H

#if defined(__SSE2__)
#include <xmmintrin.h>

typedef unsigned int drv_fp_env;

static inline drv_fp_env drv_fp_env_begin(void) {
    /* The default MXCSR of a process: all exceptions masked, nothing else set. */
    const drv_fp_env standard = 0x1f80, saved = _mm_getcsr();
    _mm_setcsr(standard);
    return saved;
}

static inline void drv_fp_env_end(drv_fp_env saved) { _mm_setcsr(saved); }

#else
#include <fenv.h>

typedef fenv_t drv_fp_env;

static inline drv_fp_env drv_fp_env_begin(void) {
    fenv_t saved;
    fegetenv(&saved);
    fesetenv(FE_DFL_ENV);
    return saved;
}

static inline void drv_fp_env_end(drv_fp_env saved) { fesetenv(&saved); }

#endif

#endif
