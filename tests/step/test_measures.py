"""Do the measures hold what the agents drove? The state arrays that rewards and metrics read."""

import numpy as np
import pytest
from scripted_events import wall
from scripted_scenes import batch_of, drive, driver, stage


def measured(batch, name):
    return batch._core.state[name].reshape(-1).copy()


def test_progress_is_the_change_of_the_distance_to_the_goal_whatever_it_is_worth():
    """Goals ahead, behind and aside, with a reward of 0 for progress."""
    goals_m = [(40.0, 0.0), (-40.0, 20.0), (5.0, 43.0)]
    agents = [driver(0.0, 20.0 * i, speed_mps=10.0, goal_m=goal) for i, goal in enumerate(goals_m)]
    batch, moved_m = batch_of(stage(agents)), np.zeros(3)
    for _ in range(12):
        before = np.array([batch.vehicles()[name] for name in ("x_m", "y_m")], np.float64)
        drive(batch, 1, steering_bin=8)
        after = np.array([batch.vehicles()[name] for name in ("x_m", "y_m")], np.float64)
        away = [np.hypot(*(np.array(goals_m).T - place)) for place in (before, after)]
        assert measured(batch, "progress_m") == pytest.approx(away[0] - away[1], abs=1e-5)
        moved_m += np.hypot(*(after - before))
        assert measured(batch, "distance_m") == pytest.approx(moved_m, abs=1e-4)


def test_an_agent_at_its_goal_or_at_rest_measures_no_progress_but_its_way():
    """One passes its goal, one is stopped by a wall, both in the twelfth step; a restart clears both measures."""
    scene = stage([driver(speed_mps=10.0, goal_m=(13.5, 0.0)), driver(0.0, 40.0, speed_mps=10.0)],
                  [wall(13.5, y_m=40.0)])
    batch = batch_of(scene, on_goal="ignore", trial_steps=20, max_trials=2)
    drive(batch, 12)
    assert (measured(batch, "progress_m") > 0.9).all()
    drive(batch, 8)
    assert (measured(batch, "progress_m") == 0).all()
    assert measured(batch, "distance_m") == pytest.approx([20.0, 12.0], abs=1e-4)
    drive(batch, 1)
    assert (measured(batch, "progress_m") == 0).all() and (measured(batch, "distance_m") == 0).all()
