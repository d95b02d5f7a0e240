"""Compiles the plain simulator of reference.c and steps it on the scene of a batch."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from cffi import FFI

from drive_env import Batch

DECLARATIONS = """
typedef struct reference reference;
reference *reference_open(int worlds, int agents, int logged, int vehicles, int frames, int trial_steps, int partners,
                          int roads, float dt, const float *start, const float *log, const float *segments,
                          int segment_count, float *observations, float *rewards);
void reference_step(reference *all, const int64_t *actions);
void reference_close(reference *all);
"""

FLAGS = ("-std=c11", "-O3", "-march=native", "-fPIC", "-shared")
"""Of the compiler; the reference may use all instructions of this machine."""


class Reference:
    """As many worlds as a batch has, all on its first scene; `step` takes one discrete action per agent."""

    def __init__(self, batch: Batch):
        # Compile and load the library.
        self._ffi = FFI()
        self._ffi.cdef(DECLARATIONS)
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise SystemExit("the reference needs a C compiler; none was found as cc or gcc")
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "reference.so"
            source = Path(__file__).with_name("reference.c")
            subprocess.run([compiler, *FLAGS, "-o", library, source, "-lm"], check=True)
            self._lib = self._ffi.dlopen(str(library))

        # Open it on the batch's scene; it reads and writes these arrays.
        roles, config = batch.roles[0], batch.config
        start, log, segments = _vehicles(roles), _log(roles), _segments(roles.scene.roads)
        self.observations = np.zeros((batch.num_agents, batch.observation_size), np.float32)
        self.rewards = np.zeros(batch.num_agents, np.float32)
        self._buffers = [self._ffi.from_buffer("float[]", array)
                         for array in (start, log, segments, self.observations, self.rewards)]
        self._handle = self._lib.reference_open(
            batch.num_worlds, roles.num_agents, roles.log_replay_count, len(roles.objects), len(roles.frames.valid),
            roles.trial_steps, config.observation.partners, config.observation.roads, roles.dt_s, *self._buffers[:3],
            len(segments), *self._buffers[3:])

    def step(self, actions: np.ndarray) -> None:
        """Steps all worlds with the index of an action for each agent."""
        self._lib.reference_step(self._handle, self._ffi.from_buffer("int64_t[]", actions))

    def close(self) -> None:
        """Frees the worlds; called once."""
        self._lib.reference_close(self._handle)


def _vehicles(roles) -> np.ndarray:
    """(vehicles, 8): x, y, heading, speed, length, width, goal x, goal y."""
    frames, objects, indices = roles.frames, roles.scene.objects, roles.objects
    speed = np.hypot(frames.vx_mps[0, indices], frames.vy_mps[0, indices])
    columns = (frames.x_m[0, indices], frames.y_m[0, indices], frames.heading_rad[0, indices], speed,
               objects.length_m[indices], objects.width_m[indices], objects.goal_m[indices, 0],
               objects.goal_m[indices, 1])
    return np.ascontiguousarray(np.stack(columns, axis=1), np.float32)


def _log(roles) -> np.ndarray:
    """(frames, log-replay vehicles, 5): x, y, heading, speed, valid."""
    frames, indices = roles.frames, roles.objects[roles.num_agents : roles.num_agents + roles.log_replay_count]
    speed = np.hypot(frames.vx_mps[:, indices], frames.vy_mps[:, indices])
    columns = (frames.x_m[:, indices], frames.y_m[:, indices], frames.heading_rad[:, indices], speed,
               frames.valid[:, indices])
    return np.ascontiguousarray(np.nan_to_num(np.stack(columns, axis=2)), np.float32)


def _segments(roads) -> np.ndarray:
    """(segments, 7): both ends, width, speed limit, kind; a single point is a segment of length 0."""
    rows = []
    for road, (first, end) in enumerate(zip(roads.start[:-1], roads.start[1:])):
        rest = roads.width_m[road], roads.speed_limit_mps[road], roads.kind[road]
        for i in range(first, max(end - 1, first + 1)):
            to = min(i + 1, end - 1)
            rows.append((roads.x_m[i], roads.y_m[i], roads.x_m[to], roads.y_m[to], *rest))
    return np.array(rows, np.float32)
