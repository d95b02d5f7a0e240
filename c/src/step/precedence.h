/* Which of two agents whose paths cross goes first? Of each pair, the one that is inside already; else the one without
 * a sign; else the one that has room to leave; else the one that arrives first. Agents that stand and wait for each
 * other in a circle drive on: the one of lowest index among them goes before those that stand. */
#ifndef DRV_PRECEDENCE_H
#define DRV_PRECEDENCE_H

#include "step/lane_driver.h"

/* Lowers the accelerations of agents that go second. Needs the bits of driver->pairs, and of each agent what keeps it
 * behind stop lines and the vehicles ahead. */
DRV_STEP_API void drv_precedence_settle(const drv_world *world, drv_lane_driver *driver);

#endif
