/* In which order must searches rank items? By value, then by index. */
#ifndef RANKED_H
#define RANKED_H

#include <stdint.h>

typedef struct ranked {
    float value;
    int32_t index;
} ranked;

static inline int by_value_then_index(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->value != b->value) return (a->value > b->value) - (a->value < b->value);
    return (a->index > b->index) - (a->index < b->index);
}

#endif
