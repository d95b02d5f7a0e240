/* Which instruction set is this translation unit compiled for?
 *
 * The build compiles step/unit.c once per instruction set, from the same source, and defines DRV_ISA. All functions of
 * the unit are then static, and its only external symbol is the table of kernels, so that all copies link into one
 * library; batch/dispatch.c selects one. The copies give the same bytes: no contraction, no reordering, and every
 * selection has a total order. Without DRV_ISA, in unit tests and in the math files that batches and scenes call,
 * functions are external. */
#ifndef DRV_ISA_H
#define DRV_ISA_H

#ifdef DRV_ISA
/* `unused`: some functions are called by tests or scenes only, and not inside the unit. */
#define DRV_STEP_API __attribute__((unused)) static
#else
#define DRV_STEP_API
#define DRV_ISA baseline
#endif

#define DRV_PASTE(name, isa) name##_##isa
#define DRV_PASTE_EXPANDED(name, isa) DRV_PASTE(name, isa)
#define DRV_TEXT(isa) #isa
#define DRV_TEXT_EXPANDED(isa) DRV_TEXT(isa)

#define DRV_KERNELS_OF_ISA DRV_PASTE_EXPANDED(drv_kernels, DRV_ISA)
#define DRV_ISA_TEXT DRV_TEXT_EXPANDED(DRV_ISA)

#endif
