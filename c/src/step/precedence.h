/* Which of two agents whose paths cross goes first? The one that is too fast to stop, if the other one stands; else the
 * one that is inside already; else the one without a sign; else the one that is first to reach the place where it would
 * wait. Agents that stand and wait for each other in a cycle drive on: the one of lowest index among them goes before
 * those that stand. Where paths join in one direction, the second agent follows the first one, which is nearer to the
 * merge point. */
#ifndef DRV_PRECEDENCE_H
#define DRV_PRECEDENCE_H

#include "step/lane_driver.h"

/* Lowers the accelerations of agents that go second. Needs the bits of driver->pairs and, for each agent, the
 * acceleration that stop lines and the vehicles ahead allow. */
DRV_STEP_API void drv_precedence_settle(const drv_world *world, drv_lane_driver *driver);

#endif
