"""How is a core tested where Python does not run? tests/c/replay_recording.c replays a rollout from a file.

`record` writes the rollout: the structs that the package passed to the core, and the actions. `hash_output` hashes the
output of the program as golden.py does.
"""

from __future__ import annotations

import io
import struct
import threading
from collections.abc import Iterable
from typing import NamedTuple

import golden
import numpy as np

from drive_env import Batch, binding, native, native_batch

core_ffi, core_lib = binding.ffi, binding.lib


class Recording(NamedTuple):
    """A rollout in the program's input format, and the batch needed to read its output."""

    data: bytes
    batch: Batch
    """Closed; its sizes and tables are those of the rollout."""


class _CallRecorder:
    """Replaces the binding's `ffi` and `lib` while a batch is made, and records the arguments."""

    def __init__(self):
        self.buffers: dict[int, bytes] = {}
        self.inputs, self.setups = [], []

    def __getattr__(self, name):
        # One object for both: no name of the one is a name of the other.
        return getattr(core_lib, name) if hasattr(core_lib, name) else getattr(core_ffi, name)

    def from_buffer(self, *arguments, **choices):
        made = core_ffi.from_buffer(*arguments, **choices)
        self._store(made)
        return made

    def new(self, kind, *initial):
        made = core_ffi.new(kind, *initial)
        if kind == "char[]":
            self._store(made)
        return made

    def _store(self, made):
        self.buffers[int(core_ffi.cast("uintptr_t", made))] = bytes(core_ffi.buffer(made))

    def drv_scene_create(self, source, arena, out, message):
        self.inputs.append(self._struct(source))
        return core_lib.drv_scene_create(source, arena, out, message)

    def drv_batch_create(self, setup, *rest):
        self.setups.append(self._struct(setup))
        return core_lib.drv_batch_create(setup, *rest)

    def _struct(self, pointer) -> bytes:
        """A struct as read_struct() of the program reads it."""
        raw, parts = bytes(core_ffi.buffer(pointer)), []
        for name, field in core_ffi.typeof(pointer).item.fields:
            if field.type.kind == "pointer":
                target = self.buffers.get(int(core_ffi.cast("uintptr_t", getattr(pointer, name))))
                if target is not None:
                    parts.append(struct.pack("<QQ", field.offset, len(target)) + target)
        return struct.pack("<Q", len(raw)) + raw + struct.pack("<Q", len(parts)) + b"".join(parts)


class _Unshared(dict):
    """Replaces the cache of scenes, so that each is made again and recorded."""

    def get(self, key):
        return None


ONE_AT_A_TIME = threading.Lock()
"""One recording at a time: it replaces the binding of the whole process."""


def record(rollout: str, steps: int = golden.STEPS) -> Recording | None:
    """The rollout as a file; None where its real file is missing."""
    with ONE_AT_A_TIME:
        return _recorded(rollout, steps)


def _recorded(rollout, steps):
    recorder, modules, in_use = _CallRecorder(), (native, native_batch), native._scenes_in_use
    try:
        native._scenes_in_use = _Unshared()
        for module in modules:
            module.ffi = module.lib = recorder
        batch = golden.begin(rollout)
    finally:
        native._scenes_in_use = in_use
        for module in modules:
            module.ffi, module.lib = core_ffi, core_lib
    if batch is None:
        return None
    out = io.BytesIO()
    out.write(struct.pack("<Q", len(recorder.inputs)) + b"".join(recorder.inputs) + recorder.setups[0])
    arrays = dict(core_ffi.typeof("drv_arrays").fields)
    table = sorted(batch._core.table, key=lambda shared: shared.name != "actions")
    out.write(struct.pack("<Q", len(table)))
    for shared in table:
        out.write(struct.pack("<QQ", arrays[shared.name].offset, batch._core.arrays[shared.name].nbytes))
    out.write(struct.pack("<QQ", steps, golden.RESTARTS_EVERY))
    for step in range(1, steps + 1):
        out.write(golden.draw(batch, step).tobytes())
    batch.close()
    return Recording(out.getvalue(), batch)


def hash_output(recorded: Recording, output: bytes, steps: int = golden.STEPS) -> golden.Hashes:
    """Hashes what the program wrote of a rollout."""
    stream, batch = io.BytesIO(output), recorded.batch
    hashes = golden.hash_snapshots(_snapshots(stream, batch, steps), batch.world_ids,
                                   lambda: np.frombuffer(stream.read(), np.float64))
    assert stream.read() == b""
    return hashes


def _snapshots(stream: io.BytesIO, batch: Batch, steps: int) -> Iterable[golden.Snapshot]:
    worlds = batch.num_worlds

    def array(dtype, nbytes):
        return np.frombuffer(stream.read(nbytes), dtype).reshape(worlds, -1)

    # Restart observations are floats, whatever the observation type.
    restart_type = np.dtype(np.float16 if batch.config.observation.type == "float16" else np.float32)
    floats = batch.num_agents * batch.observation_size
    names = [shared.name for shared in batch._core.table if shared.name != "actions"]
    for step in range(steps + 1):
        outputs = {name: array(batch._core.arrays[name].dtype, batch._core.arrays[name].nbytes) for name in names}
        state = batch._core.state_views(array(np.uint8, batch._core.block.nbytes).reshape(-1))
        restarts = array(restart_type, restart_type.itemsize * floats) if step % golden.RESTARTS_EVERY == 0 else None
        yield golden.snapshot_from(outputs, state, restarts)
