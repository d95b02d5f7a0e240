"""How do the vehicles of a scene move while `LaneDriver` drives its agents?"""

from __future__ import annotations

import numpy as np

from drive_env import OUTCOMES, Batch, DriveConfig
from drive_env.drivers import LaneDriver


def drive(scene, steps, on_step=None, **config):
    """One trial.

    Args:
        on_step: called after every step with the batch.

    Returns:
        Outcomes of the agents; the poses and speeds of all vehicles at each step, by name; the rates of violations.
    """
    record = []
    with Batch(scene, config=DriveConfig(trial_steps=steps, **config)) as batch:
        driver, outcomes = LaneDriver(batch), np.zeros(batch.num_agents, int)
        batch.reset()
        for _ in range(steps):
            record.append(batch.vehicles())
            batch.step(driver.act_all())
            outcomes += batch.outcome
            if on_step is not None:
                on_step(batch)
            if batch.trial_ended.all():
                break
        rates = {name: batch.metrics()[name].value for name in ("red_light", "stop_sign") if name in batch.metrics()}
    found = {name: np.array([now[name] for now in record]) for name in ("x_m", "y_m", "speed_mps", "heading_rad")}
    return [OUTCOMES[outcome] for outcome in outcomes], found, rates
