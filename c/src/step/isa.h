/* For which instruction set is this file compiled?
 *
 * The build compiles step/unit.c once per instruction set, from the same source, and defines DRV_ISA. All functions of a
 * unit are then static, and its one external name is the table of kernels: all copies live in one library, and
 * batch/dispatch.c picks one. The copies give the same bytes: no contraction, no reordering, and every selection has a
 * total order. Without DRV_ISA (unit tests, and the few math files that batches and scenes call) functions are
 * external. */
#ifndef DRV_ISA_H
#define DRV_ISA_H

#ifdef DRV_ISA
/* Unused where a unit has no caller of a function that only tests or scenes call. */
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
