"""Is a collision the agent's fault? Staged contacts with the verdicts that two published rules define."""

import dataclasses
import math

import numpy as np
import pytest
from scripted_events import TURNS
from scripted_scenes import COAST_ACTION, batch_of, driver, stage
from staged_contacts import CONTACTS, FRAMES, LANES, moving


@pytest.mark.parametrize("turn_rad", TURNS[:3])
@pytest.mark.parametrize("agent, other, roads, by_bearing, by_bumper", CONTACTS.values(), ids=CONTACTS)
def test_a_staged_contact_has_the_verdicts_of_both_rules(agent, other, roads, by_bearing, by_bumper, turn_rad):
    scene = stage([agent, other], [*LANES, *roads], turn_rad=turn_rad)
    batch = batch_of(scene, detailed_metrics=True, on_offroad="ignore", trial_steps=FRAMES)
    state = batch._core.state
    while not state["collision_onset"][0, 0]:
        assert state["clock_steps"][0, 0] < FRAMES - 1, "they did not meet"
        assert not state["had_fault_by_bearing"][0, 0] and not state["had_fault_by_bumper"][0, 0]
        batch.step([COAST_ACTION])
    assert bool(state["had_fault_by_bearing"][0, 0]) is by_bearing
    assert bool(state["had_fault_by_bumper"][0, 0]) is by_bumper
    while not batch.trial_ended[0]:
        batch.step([COAST_ACTION])
    report = batch.metrics()
    assert (report["at_fault_collision"].value, report["at_fault_collision_nuplan"].value) == (by_bearing, by_bumper)


@pytest.mark.parametrize("factor, in_front", [(1.0, False), (2.0, True)])
def test_the_bearing_is_that_from_the_rear_axle_of_the_hidden_wheelbase(factor, in_front):
    """A car that comes in from the left is at 73 degrees from one rear axle, at 47 from the other."""
    scene = stage([driver(speed_mps=10.0), moving(-0.7, 3.2, -0.2, 10.5)], LANES)
    batch = batch_of(scene, detailed_metrics=True, trial_steps=FRAMES - 1,
                     hidden={"wheelbase_factor": (factor, factor)})
    while not batch.trial_ended[0]:
        batch.step([COAST_ACTION])
    assert batch.metrics()["collision"].value == 1 and batch.metrics()["at_fault_collision"].value == in_front


def test_a_lane_that_is_wide_enough_is_not_left():
    """A crossing car hits the side of an agent whose box is over the border of a lane of 3.5 m, not over one of 8 m."""
    for width_m, fault in ((3.5, True), (8.0, False)):
        scene = stage([driver(0.0, 1.2, speed_mps=5.0), moving(4.2, -13.0, math.pi / 2, 10.0)], LANES[:1])
        widths = np.full(1, width_m, np.float32)
        scene = dataclasses.replace(scene, roads=dataclasses.replace(scene.roads, width_m=widths))
        batch = batch_of(scene, detailed_metrics=True, trial_steps=FRAMES)
        while not batch.waits[0]:
            batch.step([COAST_ACTION])
        assert batch.metrics()["at_fault_collision_nuplan"].value == fault
