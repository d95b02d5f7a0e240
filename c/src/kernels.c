/* Which instruction set runs the step? */
#include "kernels.h"

#include <string.h>

#if defined(DRV_X86_64_LEVELS)
#include <cpuid.h>
#endif

extern const drv_kernels drv_kernels_baseline;
#if defined(DRV_X86_64_LEVELS)
extern const drv_kernels drv_kernels_v3, drv_kernels_v4;
#endif

enum { set_limit = 3 };

#if defined(DRV_X86_64_LEVELS)
/* Not every compiler has a name for it. */
static _Bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

/* Fills in what this processor can run, slowest first; returns how many. */
static int32_t offered(const drv_kernels **sets) {
    int32_t count = 0;
    sets[count++] = &drv_kernels_baseline;
#if defined(DRV_X86_64_LEVELS)
    __builtin_cpu_init();
    const _Bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                     has_f16c() && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
    const _Bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512vl");
    if (v3) sets[count++] = &drv_kernels_v3;
    if (v4) sets[count++] = &drv_kernels_v4;
#endif
    return count;
}

const drv_kernels *drv_kernels_choose(const char *isa) {
    const drv_kernels *sets[set_limit];
    const int32_t count = offered(sets);
    if (!isa || !isa[0]) return sets[count - 1];
    for (int32_t i = 0; i < count; i++)
        if (strcmp(sets[i]->isa, isa) == 0) return sets[i];
    return NULL;
}

const char *drv_kernels_offered(int32_t index) {
    const drv_kernels *sets[set_limit];
    return index >= 0 && index < offered(sets) ? sets[index]->isa : NULL;
}
