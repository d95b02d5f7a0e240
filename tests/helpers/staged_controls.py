"""How do tests stage traffic lights and signs? Controls with their lines, logged states, programs and lanes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from drive_env.scenes import TrafficControls

OFF, RED, YELLOW, GREEN = range(4)
"""What a light shows."""

LIGHT, STOP, YIELD = 1, 2, 3
"""Kinds of controls."""


def controls_of(kinds, lines_m, states=None, phases=(), lanes=(), offset_s=0.0, junction=-1) -> TrafficControls:
    """Controls of all traffic that crosses their lines; with `lanes`, control i is for lane `lanes[i]` alone.

    Args:
        lines_m: (controls, 4) stop lines.
        states: (frames, controls) logged states; None: one frame, in which all lights are off.
        phases: (state, seconds) of the program of the first control; without phases none has a program.
        offset_s, junction: one value for all controls.
    """
    count, number = len(kinds), len(phases)
    return TrafficControls(
        kind=np.array(kinds, np.uint8), line_m=np.array(lines_m, np.float32).reshape(count, 4),
        start=np.arange(count + 1, dtype=np.int32) * (len(lanes) > 0), lane=np.array(lanes, np.int32),
        state=np.array([[OFF] * count] if states is None else states, np.uint8),
        phase_start=np.array([0] + [number] * count, np.int32),
        phase_state=np.array([state for state, _ in phases], np.uint8),
        phase_s=np.array([seconds for _, seconds in phases], np.float32),
        offset_s=np.full(count, offset_s, np.float32), junction=np.full(count, junction, np.int32))


def with_controls(scene, *kinds_and_lines, states=None, **more):
    """The scene with controls of (kind, stop line), whose lights show `states`; more arguments as of `controls_of`."""
    kinds, lines_m = ([entry[part] for entry in kinds_and_lines] for part in (0, 1))
    log = None if states is None else [states]
    return replace(scene, traffic_controls=controls_of(kinds, lines_m, log, **more))
