"""How do the vehicle models move? In float64, with complex positions and without the formulas of the core.

A model is a function from a `Vehicle`, its control, in units, and `Limits` to the vehicle after a step.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, replace

STEERING_RATE_RADPS = 0.6
GRAVITY_MPS2 = 9.81


@dataclass(frozen=True)
class Vehicle:
    """A state, and the length of the vehicle."""

    position: complex
    heading_rad: float
    speed_mps: float
    length_m: float
    steering_rad: float = 0.0
    acceleration_mps2: float = 0.0

    @property
    def wheelbase_m(self):
        return 0.6 * self.length_m


@dataclass(frozen=True)
class Limits:
    """The limits of a config."""

    min_mps: float = 0.0
    max_mps: float = 40.0
    steering_rad: float = 0.6
    friction: float = 1.0
    dt_s: float = 0.1

    def speed(self, speed_mps):
        return min(max(speed_mps, self.min_mps), self.max_mps)


def _turned(heading_rad, angle_rad):
    return cmath.phase(cmath.rect(1.0, heading_rad + angle_rad))


def _rolled(car, speed_mps, sideslip_rad, dt_s):
    """A car whose centre moves at a sideslip angle: it turns about the point where the normals of its axles meet."""
    step = cmath.rect(speed_mps * dt_s, car.heading_rad + sideslip_rad)
    turn_rad = speed_mps * dt_s * math.sin(sideslip_rad) / (0.5 * car.wheelbase_m)
    return replace(car, position=car.position + step, heading_rad=_turned(car.heading_rad, turn_rad),
                   speed_mps=speed_mps)


def _sideslip(steering_rad):
    return cmath.phase(complex(2.0 * math.cos(steering_rad), math.sin(steering_rad)))


def bicycle(car, control, limits):
    acceleration, steering = control
    speed = car.speed_mps + acceleration * limits.dt_s
    speed = 0.0 if speed * car.speed_mps < 0 else limits.speed(speed)
    return replace(_rolled(car, speed, _sideslip(steering), limits.dt_s), steering_rad=steering)


def classic(car, control, limits):
    acceleration, wanted = control
    max_change = STEERING_RATE_RADPS * limits.dt_s
    steering = min(max(wanted, car.steering_rad - max_change), car.steering_rad + max_change)
    steering = math.copysign(min(abs(steering), limits.steering_rad), steering)
    speed = limits.speed(car.speed_mps + acceleration * limits.dt_s)
    return replace(_rolled(car, speed, _sideslip(steering), limits.dt_s), steering_rad=steering)


def invertible_bicycle(car, control, limits):
    acceleration, curvature = control
    speed = limits.speed(car.speed_mps + acceleration * limits.dt_s)
    held = (speed - car.speed_mps) / limits.dt_s
    path = (speed**2 - car.speed_mps**2) / (2 * held) if abs(held) > 1e-9 else speed * limits.dt_s
    return replace(car, position=car.position + cmath.rect(path, car.heading_rad), speed_mps=speed,
                   heading_rad=_turned(car.heading_rad, curvature * path))


def delta_local(car, control, limits):
    ahead, left, turn = (number * limits.dt_s / 0.1 for number in control)
    step = cmath.rect(1.0, car.heading_rad) * complex(ahead, left)
    heading = _turned(car.heading_rad, turn)
    return replace(car, position=car.position + step, heading_rad=heading,
                   speed_mps=(step * cmath.rect(1.0, -heading)).real / limits.dt_s)


def grip(car, control, limits):
    acceleration, steering = control
    radius = limits.friction * GRAVITY_MPS2
    acceleration = min(max(acceleration, -radius), radius)
    lateral = math.sqrt(radius**2 - acceleration**2)
    max_curvature = lateral / max(abs(car.speed_mps), 1.0) ** 2
    sideslip = _sideslip(steering)
    if abs(math.sin(sideslip)) > 0.5 * car.wheelbase_m * max_curvature:
        sideslip = math.copysign(math.asin(0.5 * car.wheelbase_m * max_curvature), sideslip)
    speed = car.speed_mps + acceleration * limits.dt_s
    speed = 0.0 if speed * car.speed_mps < 0 else limits.speed(speed)
    return replace(_rolled(car, speed, sideslip, limits.dt_s), steering_rad=steering)


def jerk(car, control, limits):
    ahead, left = control
    acceleration = car.acceleration_mps2 + ahead * limits.dt_s
    acceleration = 0.0 if acceleration * car.acceleration_mps2 < 0 else min(max(acceleration, -5.0), 2.5)
    lateral = car.speed_mps**2 * math.tan(car.steering_rad) / car.wheelbase_m
    wanted = lateral + left * limits.dt_s
    wanted = 0.0 if wanted * lateral < 0 else min(max(wanted, -4.0), 4.0)
    speed = car.speed_mps + (acceleration + car.acceleration_mps2) * limits.dt_s / 2
    speed = 0.0 if speed * car.speed_mps < 0 else limits.speed(speed)
    max_change = STEERING_RATE_RADPS * limits.dt_s
    steering = math.atan2(wanted * car.wheelbase_m, max(abs(speed), 1.0) ** 2)
    steering = min(max(steering, car.steering_rad - max_change), car.steering_rad + max_change)
    steering = math.copysign(min(abs(steering), limits.steering_rad), steering)
    curvature, path = math.tan(steering) / car.wheelbase_m, (speed + car.speed_mps) * limits.dt_s / 2
    forward = cmath.rect(1.0, car.heading_rad)
    if abs(curvature) < 1e-9:
        position = car.position + path * forward
    else:  # about the centre of the arc
        centre = car.position + 1j * forward / curvature
        position = centre + (car.position - centre) * cmath.rect(1.0, path * curvature)
    return replace(car, position=position, heading_rad=_turned(car.heading_rad, path * curvature), speed_mps=speed,
                   steering_rad=steering, acceleration_mps2=acceleration)


MODELS = {"bicycle": bicycle, "classic": classic, "invertible_bicycle": invertible_bicycle,
          "delta_local": delta_local, "grip": grip, "jerk": jerk}
