/* How many entries follow an array that SIMD operations read?
 *
 * A file of its own: a compiler takes longer over the intrinsics that math/vector.h includes than over most files. */
#ifndef DRV_SIMD_PAD_H
#define DRV_SIMD_PAD_H

enum { DRV_SIMD_PAD = 16 };

#endif
