/* Does the core detect the instruction sets that the compiler's built-in functions detect? */
#include "check.h"

#if defined(__x86_64__)
#include "platform/cpu.h"

static bool has_v3(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
}

static bool has_v4(void) {
    return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

#endif

/* Other processors have one instruction set. */
TEST(the_instruction_sets_are_those_that_the_compiler_detects) {
#if defined(__x86_64__)
    const drv_cpu cpu = drv_cpu_detect();
    CHECK(cpu.v3 == has_v3(), "%d, not %d", cpu.v3, has_v3());
    CHECK(cpu.v4 == has_v4(), "%d, not %d", cpu.v4, has_v4());
#endif
}
