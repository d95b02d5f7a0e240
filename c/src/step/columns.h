/* Which reward terms, which metrics and which facts for them does a batch have? What its config does not use takes no
 * memory and no time. */
#ifndef DRV_COLUMNS_H
#define DRV_COLUMNS_H

#include <stdbool.h>

#include "drive.h"

enum {
    WEIGHTED,
    WEIGHTED_LANE,
    WEIGHTED_COMFORT,
    WEIGHTED_PROXIMITY,
    WEIGHTED_LOG,
    WEIGHTED_ROUTE,
    ALWAYS,
    /* Terms that every batch has. */
#define X(symbol, name, weight, when, shown) +(shown == ALWAYS)
    DRV_COMMON_TERMS = 0 DRV_REWARD_TERMS(X)
#undef X
};

#define X(symbol, name, weight, when, shown) &&((shown == ALWAYS) == ((int)DRV_TERM_##symbol < (int)DRV_COMMON_TERMS))
_Static_assert(1 DRV_REWARD_TERMS(X), "the terms that every batch has are the first");
#undef X

typedef struct drv_columns {
    int32_t terms, term[DRV_TERM_COUNT]; /* those whose sums a world keeps, as drv_term */
    int32_t metrics;                     /* the metrics of a trial; the last are the sums of the terms */
    bool lane, comfort, proximity;       /* the facts that terms or metrics use */
    bool log;                            /* the facts that terms use */
    bool route;                          /* the facts that terms or critics use */
} drv_columns;

drv_columns drv_columns_of(const drv_config *config);

#endif
