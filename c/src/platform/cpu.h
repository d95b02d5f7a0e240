/* Which instruction sets does this x86-64 processor support, and does the operating system save their registers?
 *
 * Reads CPUID directly: the builtins of compilers need a runtime library that not every system has. */
#ifndef DRV_CPU_H
#define DRV_CPU_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

/* Bits of leaf 1 (ecx), of leaf 7 (ebx), and of XCR0: the register state that the system saves for a thread. */
static const uint32_t drv_leaf1_v3 = (uint32_t)(bit_AVX | bit_F16C | bit_FMA | bit_OSXSAVE | bit_POPCNT);
static const uint32_t drv_leaf7_v3 = (uint32_t)(bit_AVX2 | bit_BMI | bit_BMI2);
static const uint32_t drv_leaf7_v4 =
    (uint32_t)(bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ) | (uint32_t)bit_AVX512VL;
static const uint32_t drv_saved_v3 = 0x6;  /* XMM and YMM state */
static const uint32_t drv_saved_v4 = 0xe6; /* and opmask and ZMM state */

typedef struct drv_cpu {
    bool v3, v4;
} drv_cpu;

static inline drv_cpu drv_cpu_detect(void) {
    drv_cpu cpu = {false, false};
    uint32_t a, b, c, d, leaf1, leaf7, saved, saved_high;
    if (!__get_cpuid(1, &a, &b, &leaf1, &d) || (leaf1 & drv_leaf1_v3) != drv_leaf1_v3) return cpu;
    if (!__get_cpuid_count(7, 0, &a, &leaf7, &c, &d)) return cpu;
    __asm__ volatile("xgetbv" : "=a"(saved), "=d"(saved_high) : "c"(0));
    cpu.v3 = (leaf7 & drv_leaf7_v3) == drv_leaf7_v3 && (saved & drv_saved_v3) == drv_saved_v3;
    cpu.v4 = cpu.v3 && (leaf7 & drv_leaf7_v4) == drv_leaf7_v4 && (saved & drv_saved_v4) == drv_saved_v4;
    return cpu;
}

#endif
