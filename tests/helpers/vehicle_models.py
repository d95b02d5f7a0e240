"""How do the vehicle models move? In float64, with complex positions and without the formulas of the core.

A model is a function from a `Vehicle`, its control, in units, and `Limits` to the vehicle after a step.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, replace

import numpy as np

STEERING_RATE_RADPS = 0.6
"""Of `classic` and `jerk`."""

GRAVITY_MPS2 = 9.81
LOG_STEP_S = 0.1
"""The step in which `delta_local` moves by its control."""

JERK_BRAKING_MPS2, JERK_ACCELERATION_MPS2, JERK_LATERAL_MPS2 = 5.0, 2.5, 4.0
"""Bounds of the accelerations of `jerk`."""

LEAST_MPS = 1.0
"""Below this speed `grip` and `jerk` limit the curvature as at this speed."""

LARGEST_COORDINATE_M, LARGEST_SPEED_MPS = 50e3, 200.0
LARGEST_YAW_RATE_RADPS, LARGEST_SIDESLIP_RAD = 10.0, math.pi / 2


@dataclass(frozen=True)
class Vehicle:
    """A state, and the length of the vehicle."""

    position: complex
    heading_rad: float
    speed_mps: float
    length_m: float
    steering_rad: float = 0.0
    acceleration_mps2: float = 0.0
    yaw_rate_radps: float = 0.0
    sideslip_rad: float = 0.0

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
    ahead, left, turn = (number * limits.dt_s / LOG_STEP_S for number in control)
    step = cmath.rect(1.0, car.heading_rad) * complex(ahead, left)
    heading = _turned(car.heading_rad, turn)
    return replace(car, position=car.position + step, heading_rad=heading,
                   speed_mps=(step * cmath.rect(1.0, -heading)).real / limits.dt_s)


def grip(car, control, limits):
    acceleration, steering = control
    radius = limits.friction * GRAVITY_MPS2
    acceleration = min(max(acceleration, -radius), radius)
    lateral = math.sqrt(radius**2 - acceleration**2)
    max_curvature = lateral / max(abs(car.speed_mps), LEAST_MPS) ** 2
    sideslip = _sideslip(steering)
    if abs(math.sin(sideslip)) > 0.5 * car.wheelbase_m * max_curvature:
        sideslip = math.copysign(math.asin(0.5 * car.wheelbase_m * max_curvature), sideslip)
    speed = car.speed_mps + acceleration * limits.dt_s
    speed = 0.0 if speed * car.speed_mps < 0 else limits.speed(speed)
    return replace(_rolled(car, speed, sideslip, limits.dt_s), steering_rad=steering)


def jerk(car, control, limits):
    ahead, left = control
    acceleration = car.acceleration_mps2 + ahead * limits.dt_s
    acceleration = min(max(acceleration, -JERK_BRAKING_MPS2), JERK_ACCELERATION_MPS2)
    acceleration = 0.0 if acceleration * car.acceleration_mps2 < 0 else acceleration
    lateral = car.speed_mps**2 * math.tan(car.steering_rad) / car.wheelbase_m
    wanted = lateral + left * limits.dt_s
    wanted = 0.0 if wanted * lateral < 0 else min(max(wanted, -JERK_LATERAL_MPS2), JERK_LATERAL_MPS2)
    speed = car.speed_mps + (acceleration + car.acceleration_mps2) * limits.dt_s / 2
    speed = 0.0 if speed * car.speed_mps < 0 else limits.speed(speed)
    max_change = STEERING_RATE_RADPS * limits.dt_s
    steering = math.atan2(wanted * car.wheelbase_m, max(abs(speed), LEAST_MPS) ** 2)
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


# ---- single_track ----

FOOT_M, POUND_FORCE_N = 0.3048, 4.4482216152605
BMW_320I = {
    "mass_kg": POUND_FORCE_N / FOOT_M * 74.91452, "inertia_kgm2": POUND_FORCE_N * FOOT_M * 1321.416,
    "front_m": FOOT_M * 3.793293, "rear_m": FOOT_M * 4.667707, "height_m": FOOT_M * 2.01355,
    "friction": 1.0489, "stiffness": 21.92 / 1.0489, "steering_rad": 1.066, "steering_rate": 0.4,
    "acceleration": 11.5, "power_from_mps": 7.319}
"""Parameters of CommonRoad's vehicle 2, as published, in feet and pounds."""

F1TENTH = {
    "mass_kg": 3.74, "inertia_kgm2": 0.04712, "front_m": 0.15875, "rear_m": 0.17145, "height_m": 0.074,
    "friction": 1.0489, "stiffness": 4.718, "rear_stiffness": 5.4562}
"""Parameters of the F1TENTH Gym, whose rear tyres differ from those in front."""

ROLLS_BELOW_MPS = 1.3
"""Slower cars roll without slip: the equations of slip divide by the speed."""

SUBSTEP_S = 0.01


def engine_acceleration(speed_mps, wanted, car=BMW_320I):
    """The acceleration that brakes and engine allow."""
    most = car["acceleration"]
    power_limited = most * min(1.0, car["power_from_mps"] / speed_mps) if speed_mps > 0 else most
    return min(max(wanted, -most), power_limited)


def single_track_rates(state, steering_rate, acceleration, car=BMW_320I):
    """The rates of change of CommonRoad's state: x, y, wheel angle, speed, heading, yaw rate, sideslip.

    By forces of the axles, whose lever arms and loads are written out.
    """
    _, _, steering, speed, heading, yaw_rate, sideslip = state
    wheelbase = car["front_m"] + car["rear_m"]
    loads = [car["mass_kg"] * (GRAVITY_MPS2 * car["rear_m"] - acceleration * car["height_m"]) / wheelbase,
             car["mass_kg"] * (GRAVITY_MPS2 * car["front_m"] + acceleration * car["height_m"]) / wheelbase]
    slips = [steering - sideslip - car["front_m"] * yaw_rate / speed, -sideslip + car["rear_m"] * yaw_rate / speed]
    stiffness = car["stiffness"], car.get("rear_stiffness", car["stiffness"])
    front, rear = (car["friction"] * per_load * load * slip
                   for per_load, load, slip in zip(stiffness, loads, slips, strict=True))
    velocity = cmath.rect(speed, heading + sideslip)
    return np.array([velocity.real, velocity.imag, steering_rate, acceleration, yaw_rate,
                     (front * car["front_m"] - rear * car["rear_m"]) / car["inertia_kgm2"],
                     (front + rear) / (car["mass_kg"] * speed) - yaw_rate])


def runge_kutta(state, rates, dt_s):
    """One step of the classical method of order 4; `rates` is a function of the state."""
    first = rates(state)
    second = rates(state + dt_s / 2 * first)
    third = rates(state + dt_s / 2 * second)
    return state + dt_s / 6 * (first + 2 * second + 2 * third + rates(state + dt_s * third))


def rolled_substep(state, steering_rate, acceleration, dt_s, car=BMW_320I):
    """Both axles roll along their wheels, about the point where their normals meet."""
    x, y, steering, speed, heading, _, _ = state
    steering += steering_rate * dt_s
    slip = math.atan2(math.sin(steering) * car["rear_m"], math.cos(steering) * (car["front_m"] + car["rear_m"]))
    path, per_m = (speed + acceleration * dt_s / 2) * dt_s, math.sin(slip) / car["rear_m"]
    place = complex(x, y) + cmath.rect(path, heading + path * per_m / 2 + slip)
    speed += acceleration * dt_s
    return np.array([place.real, place.imag, steering, speed, heading + path * per_m, speed * per_m, slip])


def single_track(car, control, limits):
    wanted, commanded = control
    most = BMW_320I["steering_rate"] * limits.dt_s
    limit = min(limits.steering_rad, BMW_320I["steering_rad"])
    steering = min(max(commanded, car.steering_rad - most), car.steering_rad + most)
    steering_rate = (math.copysign(min(abs(steering), limit), steering) - car.steering_rad) / limits.dt_s
    substeps = round(limits.dt_s / SUBSTEP_S)
    dt_s = limits.dt_s / substeps
    state = np.array([car.position.real, car.position.imag, car.steering_rad, car.speed_mps, car.heading_rad,
                      car.yaw_rate_radps, car.sideslip_rad])
    for _ in range(substeps):
        after = limits.speed(state[3] + engine_acceleration(state[3], wanted) * dt_s)
        acceleration = (after - state[3]) / dt_s
        if min(state[3], after) < ROLLS_BELOW_MPS:
            state = rolled_substep(state, steering_rate, acceleration, dt_s)
        else:
            state = runge_kutta(state, lambda now: single_track_rates(now, steering_rate, acceleration), dt_s)
            state[5:] = np.clip(state[5:], *np.outer((-1, 1), (LARGEST_YAW_RATE_RADPS, LARGEST_SIDESLIP_RAD)))
    return replace(car, position=complex(state[0], state[1]), steering_rad=state[2], speed_mps=state[3],
                   heading_rad=_turned(state[4], 0.0), yaw_rate_radps=state[5], sideslip_rad=state[6])


# ---- state ----


def state(car, control, limits):
    x, y, heading, speed = control
    x, y = np.clip((x, y), -LARGEST_COORDINATE_M, LARGEST_COORDINATE_M)
    speed = min(max(speed, -LARGEST_SPEED_MPS), LARGEST_SPEED_MPS)
    return replace(car, position=complex(x, y), heading_rad=_turned(heading, 0.0), speed_mps=speed)


MODELS = {"bicycle": bicycle, "classic": classic, "invertible_bicycle": invertible_bicycle,
          "delta_local": delta_local, "grip": grip, "jerk": jerk, "single_track": single_track,
          "state": state}
