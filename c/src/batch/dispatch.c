/* Which instruction set runs the step? */
#include "step/kernels.h"

#include <string.h>

#if defined(DRV_X86_64_LEVELS)
#include "platform/cpu.h"
#endif

enum { set_limit = 3 };

/* Lists the instruction sets that this processor supports, slowest first; returns their number. */
static int32_t offered(const drv_kernels **sets) {
    int32_t count = 0;
    sets[count++] = &drv_kernels_baseline;
#if defined(DRV_X86_64_LEVELS)
    const drv_cpu cpu = drv_cpu_detect();
    if (cpu.v3) sets[count++] = &drv_kernels_v3;
    if (cpu.v4) sets[count++] = &drv_kernels_v4;
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
