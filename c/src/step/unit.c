/* What is compiled once per instruction set? The whole step and the math it uses, as one translation unit, so that
 * small functions are inlined across files. */
#include "math/geometry.c"
#include "math/grid.c"
#include "math/k_nearest.c"

#include "step/actions.c"
#include "step/dynamics.c"
#include "step/dynamics/bicycle.c"
#include "step/events.c"
#include "step/expert.c"
#include "step/measures.c"
#include "step/metrics.c"
#include "step/observe.c"
#include "step/on_map.c"
#include "step/reward.c"
#include "step/roads.c"
#include "step/sweep.c"
#include "step/traffic.c"
#include "step/trial.c"

#include "step/step.c"
