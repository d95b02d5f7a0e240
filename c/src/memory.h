/* Where do large things lie in memory? At the start of a cache line, and close together.
 *
 * Records are read by 32 bytes, and half of them would lie across two lines where malloc puts them. Hundreds of scenes
 * in play are on few pages if they stand side by side, and on fewer where the system has large ones to give. */
#ifndef DRV_MEMORY_H
#define DRV_MEMORY_H

#include <stdint.h>

enum { DRV_CACHE_LINE = 64 };

/* Zeros, from the start of a cache line on; NULL where there is no memory. What is never written takes none on most
 * systems. */
void *drv_memory_take(uint64_t bytes);

/* Gives back what was taken; NULL is nothing. Any thread may, at any time. */
void drv_memory_give(void *memory);

#endif
