"""How is experience gathered? Batches played token by token, in turn, into one segment.

On a GPU nothing in a step is allocated or asked back but the actions; the step is a captured graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from drive_env import Batch

from .cache import Cache
from .mirror import Mirror
from .model import Policy
from .refresh import History
from .segment import Segment

WARM_UP_RUNS = 3
"""Before a capture: libraries make themselves ready, kernels are compiled."""


class Captured:
    """A function of static tensors: called on a CPU, replayed as a captured graph on a GPU.

    Args:
        run: reads and writes tensors that stay where they are.
        kept: those whose numbers the trial runs must not change.
    """

    def __init__(self, run: Callable[[], None], device: torch.device, kept: list[Tensor]):
        self._call = run
        if device.type != "cuda":
            return
        before = [tensor.clone() for tensor in kept]
        aside = torch.cuda.Stream(device)
        aside.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP_RUNS):
                run()
        torch.cuda.current_stream(device).wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        for tensor, value in zip(kept, before):
            tensor.copy_(value)
        self._call = graph.replay

    def __call__(self) -> None:
        self._call()


class Fleet:
    """One batch, its agents of the memory and of the segment, and what the policy does with it in a step.

    Args:
        batch: just reset. mirror: its arrays on the device. cache, segment: the agents of this batch.
        ages: (W,) driving steps that the clocks of the first trials have behind them.
    """

    def __init__(self, batch: Batch, mirror: Mirror, policy: Policy, cache: Cache, segment: Segment,
                 ages: np.ndarray):
        self.batch, self.mirror, self.policy, self.cache, self.segment = batch, mirror, policy, cache, segment
        device, agents = mirror.device, batch.num_agents
        self.previous = torch.zeros(agents, policy.actor.components, dtype=policy.actor.dtype, device=device)
        self.actions = mirror.actions
        self.world_of_agent = torch.from_numpy(batch.world_of_agent).long().to(device)
        self.trial_steps = torch.tensor([roles.trial_steps for roles in batch.roles], dtype=torch.int32, device=device)
        self.clock = torch.from_numpy(ages.astype(np.int32)).to(device)[self.world_of_agent]
        self.step_index = torch.zeros(1, dtype=torch.int64, device=device)
        self.restarts = torch.zeros(agents, dtype=torch.bool, device=device)
        self.seconds = {"env": 0.0, "wait": 0.0}
        self.think, self.absorb = self._think, self._absorb

    def capture(self) -> None:
        """Makes `think` and `absorb` captured graphs, on a GPU."""
        changed = [self.cache.head, self.cache.position, self.previous, self.clock, self.step_index, self.restarts]
        self.think, self.absorb = (Captured(run, self.mirror.device, changed) for run in (self._think, self._absorb))

    def _store(self, **of_step: Tensor) -> None:
        for name, tensor in of_step.items():
            getattr(self.segment, name).index_copy_(1, self.step_index, tensor.unsqueeze(1))

    @torch.no_grad()
    def _think(self) -> None:
        """Stores the observations with what describes them, and chooses actions."""
        now, policy = self.mirror.now, self.policy
        kept = ~now["waits"]
        self.cache.open(now["first"])
        steps_left = self.trial_steps[now["scene_index"].long()][self.world_of_agent] - self.clock
        self._store(observations=now["observations"], first=now["first"], waits=now["waits"],
                    trial_index=now["trial_index"], previous=self.previous, steps_left=steps_left)
        self.restarts.copy_(now["trial_ended"])
        parameters, values = policy.step(now["observations"], self.previous, kept, self.cache)
        actions = policy.actor.sample(parameters)
        self._store(actions=actions, log_probs=policy.actor.log_prob(parameters, actions), values=values)
        self.previous.copy_(torch.where(kept[:, None], actions, self.previous))
        self.actions.copy_(policy.actor.to_env(actions))

    def act(self) -> None:
        """Lets the batch play the actions."""
        start = time.perf_counter()
        self.mirror.await_actions()
        awaited = time.perf_counter()
        self.batch.step(self.batch.bound_actions)
        self.seconds["wait"] += awaited - start
        self.seconds["env"] += time.perf_counter() - awaited
        self.mirror.show()

    @torch.no_grad()
    def _absorb(self) -> None:
        """Stores what came of the actions."""
        now = self.mirror.now
        self._store(rewards=now["rewards"], invalid=now["invalid_step"], terminations=now["terminations"],
                    truncations=now["truncations"], truncation=now["truncation"], trial_ended=now["trial_ended"])
        self.clock.copy_(torch.where(self.restarts, 0, self.clock + 1))
        self.step_index += 1

    @torch.no_grad()
    def peek(self) -> None:
        """Values what follows the last step, and what follows a wait; remembers neither."""
        now, segment, policy = self.mirror.now, self.segment, self.policy
        segment.last_waits.copy_(now["waits"])
        segment.last_first.copy_(now["first"])
        segment.last_value.copy_(policy.step(now["observations"], self.previous, None, self.cache)[1])
        restarts = self.mirror.restart_observations(self.batch)
        segment.restart_value.copy_(policy.step(restarts, self.previous, None, self.cache)[1])


class Collector:
    """Plays segments with the policy's own draws.

    Args:
        batches: with `restart="auto"`; reset here, once. mirrors: one each.
        policy: on the device. steps: of a segment.
        keep_history: keep what `refresh` needs.
        staggered: open the first trials with ages, so that time limits do not fall together.

    Raises:
        ValueError: a batch leaves restarts to its caller.
    """

    def __init__(self, batches: list[Batch], mirrors: list[Mirror], policy: Policy, steps: int,
                 staggered: bool = True, keep_history: bool = False):
        device, observations = mirrors[0].device, mirrors[0].now["observations"]
        self.batches, self.policy, self.steps, self.device = batches, policy, steps, device
        agents = sum(batch.num_agents for batch in batches)
        self.cache = policy.make_cache(agents, steps, device)
        self.segment = Segment.empty(agents, steps, observations, policy.actor.components, policy.actor.dtype)
        self.history = History(policy, self.segment) if keep_history else None
        self.fleets: list[Fleet] = []
        start = 0
        for batch, mirror in zip(batches, mirrors):
            if batch.restart != "auto":
                raise ValueError(f"restart is {batch.restart!r}; the collector wants 'auto'")
            ages = staggered_ages(batch) if staggered else np.zeros(batch.num_worlds, np.int64)
            batch.reset(initial_ages=ages)
            mirror.show()
            chosen = slice(start, start + batch.num_agents)
            start += batch.num_agents
            self.fleets.append(Fleet(batch, mirror, policy, self.cache.agents(chosen), self.segment.agents(chosen), ages))
        for fleet in self.fleets:
            fleet.capture()

    def state(self) -> dict[str, Tensor]:
        """What a segment depends on beside weights and random numbers; between two segments."""
        batches = {f"batch{index}/{name}": torch.from_numpy(array) for index, batch in enumerate(self.batches)
                   for name, array in batch.state_dict().items()}
        return self._tensors() | batches

    def load(self, state: dict[str, Tensor]) -> None:
        """Goes on bit for bit where another collector was.

        Args:
            state: of `state()`, on a CPU.

        Raises:
            CallError: the state of a batch does not fit.
        """
        for index, fleet in enumerate(self.fleets):
            prefix = f"batch{index}/"
            fleet.batch.load_state_dict({name.removeprefix(prefix): tensor.numpy() for name, tensor in state.items()
                                         if name.startswith(prefix)})
            fleet.mirror.show()
        for name, tensor in self._tensors().items():
            tensor.copy_(state[name])

    def _tensors(self) -> dict[str, Tensor]:
        """The memory, the history and what each batch's agents did last."""
        cache = {f"cache.{name}": getattr(self.cache, name) for name in ("keys", "values", "head", "position")}
        history = {f"history.{name}": getattr(self.history, name) for name in ("observations", "previous")
                   if self.history}
        return cache | history | {f"fleet{index}.{name}": getattr(fleet, name)
                                  for index, fleet in enumerate(self.fleets) for name in ("previous", "clock")}

    def collect(self) -> Segment:
        """The next segment; it is overwritten by the call after this one."""
        self.segment.start_head.copy_(self.cache.head)
        self.segment.start_position.copy_(self.cache.position)
        for fleet in self.fleets:
            fleet.step_index.zero_()
            fleet.think()
            fleet.mirror.send_actions()
        for step in range(self.steps):
            for fleet in self.fleets:
                fleet.act()
                fleet.absorb()
                if step + 1 < self.steps:
                    fleet.think()
                    fleet.mirror.send_actions()
        for fleet in self.fleets:
            fleet.peek()
        if self.history:
            self.history.add(self.segment)
        return self.segment

    def refresh(self) -> None:
        """Remembers the context anew with the weights as they are now."""
        if self.history:
            self.history.refresh(self.policy, self.cache)


GOLDEN_RATIO = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are spread evenly however many there are (Weyl 1916)."""


def staggered_ages(batch: Batch) -> np.ndarray:
    """(W,) ages spread evenly over the shortest trial of the batch; a world's depends on its id alone."""
    shortest = min(roles.trial_steps for roles in batch.roles)
    return (batch.world_ids * GOLDEN_RATIO % 1.0 * shortest).astype(np.int64)
