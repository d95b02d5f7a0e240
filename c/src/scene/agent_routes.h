/* Along which points does each agent get to its goal? The shortest path in the lane graph, one for each goal that the
 * agent may have. */
#ifndef DRV_AGENT_ROUTES_H
#define DRV_AGENT_ROUTES_H

#include <stdbool.h>

#include "drive.h"
#include "platform/arena.h"

/* Route r is points point_start[r] to point_start[r + 1]: none where no lanes lead to the goal, else at least 2. It
 * begins at the lane point nearest to the start and ends at the one nearest to the goal. */
typedef struct drv_agent_routes {
    int32_t count;        /* 0 where the scene was created without routes */
    int32_t *point_start; /* count + 1 */
    float *x_m, *y_m;
    float *arc_m; /* length of the route up to the point; it ascends */
} drv_agent_routes;

/* The number of goals that an agent may have: the candidates of the scene, else its own. */
static inline int32_t drv_goals_per_agent(int32_t candidate_count) { return candidate_count > 0 ? candidate_count : 1; }

/* Finds the routes of a scene with a lane graph: that of agent i to goal g is i * drv_goals_per_agent + g. The arrays
 * are in one block of the arena, which begins at `point_start`; false if out of memory. */
bool drv_agent_routes_create(const drv_scene *scene, drv_arena *arena, drv_agent_routes *out, uint64_t *bytes);

#endif
