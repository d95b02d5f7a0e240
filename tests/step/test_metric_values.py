"""Do the metrics measure the drive? Distances, speeds and averages by their formulas."""

import numpy as np
import pytest
from scripted_events import figures, oscillate
from scripted_scenes import (
    COAST,
    batch_of,
    drive,
    driver,
    stage,
)


def test_the_metrics_measure_the_drive():
    batch = batch_of(stage([driver(speed_mps=10.0), driver(0.0, 50.0)]), trial_steps=50, on_goal="ignore")
    drive(batch, 50, np.array([COAST, 6]))
    report = batch.metrics()
    # 50 m at 10 m/s; and sum over n of 0.4 n 0.1 m for fifty steps, 51 m.
    assert report["trials"].value == 2 and report["trial_length"] == (50.0, 2)
    assert report["distance_m"].value == pytest.approx((50.0 + 51.0) / 2, rel=1e-5)
    assert report["mean_speed_mps"].value == pytest.approx((10.0 + 10.2) / 2, rel=1e-5)
    assert report["timeout"].value == 1.0 and report["score"].value == 0.0
    assert report["trial_0_score"].n == 2


@pytest.mark.parametrize("alpha", [0.999999, 0.9999, 0.707, 0.1])
def test_an_average_follows_its_formula_however_slowly_it_moves(alpha):
    # The first trial coasts for one step at 10 m/s; all others accelerate a little. Near alpha = 1 a float32 average
    # would never change.
    scene = stage([driver(speed_mps=10.0)])
    batches = [batch_of(scene, trial_steps=1, log_ema_alpha=a) for a in (alpha, 0.0)]
    drive(batches[0], 1), drive(batches[1], 1)
    (first_m,), distances = figures(batches[1], "distance_m"), 300
    assert figures(batches[0], "distance_m") == (first_m,) == pytest.approx((1.0,))
    for batch in batches:
        drive(batch, 2 * distances, 6)  # every second call is a restart
    (then_m,) = figures(batches[1], "distance_m")
    assert then_m == pytest.approx(1.04)
    due_m = then_m + (first_m - then_m) * alpha**distances
    assert figures(batches[0], "distance_m") == (pytest.approx(due_m, rel=1e-12),)
    assert batches[0].metrics()["trials"].n == distances + 1


def test_distance_includes_driving_in_reverse():
    batch = batch_of(stage([driver()]), trial_steps=100, dynamics={"min_speed_mps": -20.0}, on_goal="ignore")
    places_m = oscillate(batch)["x_m"][:, 0].astype(float)
    path_m = np.abs(np.diff(np.concatenate([[0.0], places_m]))).sum()
    assert path_m > 2 * np.ptp(places_m)
    assert batch.metrics()["distance_m"].value == pytest.approx(path_m, rel=1e-4)
