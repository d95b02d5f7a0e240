"""A part of a batch: some of its worlds, which can be stepped while other parts are."""

from __future__ import annotations

from .errors import CallError, ConfigError, value_text
from .world_range import WorldRange


class BatchPart(WorldRange):
    """Consecutive worlds of a batch that can be called separately: `Batch(parts=2).parts` has two of them.

    Parts can be called in any order, with steps of several in flight at once, from one thread or from several; every
    world behaves as in calls of the whole batch. A call that shares a world with a step in flight, or with a call in
    another thread, raises a `CallError` and changes nothing. Within a part, worlds and agents are numbered from 0.

    A part can be used until its batch is closed, even if no other reference to the batch exists. It cannot be copied:
    pickle the batch, whose copy has parts of its own.

    Attributes:
        world_slice, agent_slice: the part's worlds and agents as slices of the arrays of the batch.
        seed: that of the constructor, or of the last `reset` of this part, or of the whole batch, to a single seed.
        config, restart, scenes, roles: those of the batch.
        agents_per_world, observation_size, single_observation_space, single_action_space: those of the batch.
        num_worlds, num_agents, world_ids, world_of_agent: of these worlds and agents alone.
        actions, bound_actions, observations, vehicle_table, scene_index: views of those of the batch, as are all arrays
            with one entry per agent: rewards, terminations and the other channels.
    """

    def __repr__(self) -> str:
        return (f"BatchPart(worlds {self.world_slice.start} to {self.world_slice.stop - 1} of a batch, "
                f"{self.agents_per_world} agents each)")

    def __getstate__(self) -> dict:
        raise CallError("a part cannot be copied; copy or pickle its batch, whose copy has parts of its own")


def check_is_whole(batch: WorldRange) -> None:
    """Rejects a part where single worlds are read, which only the whole batch supports.

    Raises:
        ConfigError: `batch` is a part, or no `Batch` at all.
    """
    if isinstance(batch, BatchPart):
        first, last = batch.world_slice.start, batch.world_slice.stop - 1
        raise ConfigError(f"batch is a part, worlds {first} to {last}; it must be the whole batch, where these worlds "
                          "have the same indices")
    if not isinstance(batch, WorldRange):
        raise ConfigError(f"batch is {value_text(batch)}; it must be a Batch, such as the `batch` of an env")
