"""How do partners drive the co-players of a batch? One forward pass per partner, of the agents that it drives.

The host stores which partner drives which agent (draws.py) and lists the agents of each partner; a partner computes
these alone, with their rows of a KV cache of all agents. On a GPU a pass is a captured graph of fixed size: a list is
filled up with agents that it has already, and a partner that drives more agents than fit makes several passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from drive_env import Batch

from ..adaptation.interventions import CURRENT, TrialFeatures
from ..config import PartnerConfig
from ..policy.kv_cache import KVCache
from ..policy.model import Policy
from ..rollout.captured import CapturedFunction
from .draws import Assignment, uniform

SPARE_SHARE, SPARE_AGENTS = 0.25, 32
"""Agents of a pass beyond the mean number that a partner drives: a share of it and a number, so that a second pass is
rare."""


@dataclass(frozen=True)
class Partner:
    """A frozen policy that drives co-players.

    Attributes:
        policy: on the device of the batch.
        checkpoint: its folder. sha256: of its weights. update, agent_steps: of its training.
        reward_factor, reward_low: by which the observed reward of the last step gets the scale of the partner's
            training, and its lower bound there; scales depend on the weights of the reward.
    """

    policy: Policy
    checkpoint: Path
    sha256: str
    update: int
    agent_steps: int
    reward_factor: float = 1.0
    reward_low: float = -1.0


@dataclass(frozen=True)
class Partners:
    """The partners of a run, and how they drive."""

    of_run: tuple[Partner, ...]
    config: PartnerConfig


class PartnerDriver:
    """The partners of one batch, with a memory of each of its agents.

    Args:
        partners: that drive. batch: with co-players, just reset.
        arrays: channels of the batch by name, on the device; if the caller replaces its entries, the current ones are
            read. On a GPU, `capture` requires that they stay the same tensors.
        device: of the policies.

    Attributes:
        actions: (R, ...) in the format of the env; those of co-players are valid after `act`.
        state: every tensor that the next actions depend on, by name, apart from `assignment`.
    """

    def __init__(self, partners: Partners, batch: Batch, arrays: dict[str, Tensor], device: torch.device):
        self.partners, self.arrays, self.device = partners.of_run, arrays, device
        self.deterministic, self.forgets = partners.config.deterministic, partners.config.memory == "per_trial"
        self._batch, self.assignment = batch, Assignment(batch, len(self.partners), partners.config.per_world)
        agents, actor = batch.num_agents, self.partners[0].policy.actor
        zeros = partial(torch.zeros, device=device)

        # The memory of every agent. Partners of equal shape share a cache, since one of them drives an agent.
        self._caches: dict[tuple, KVCache] = {}
        self._cache_of = [self._cache(partner.policy, agents) for partner in self.partners]
        self._features = TrialFeatures(batch, device)
        self._reward = batch.observation_layout()[CURRENT].slice
        self._previous_actions = zeros(agents, actor.components, dtype=actor.dtype)
        self._step, self._trial = zeros(agents, dtype=torch.int64), zeros(agents, dtype=torch.int32) - 1
        self._of_first = zeros(agents, self._features.count)
        self.state = {"previous_actions": self._previous_actions, "step": self._step, "trial": self._trial,
                      "of_first": self._of_first}
        for index, cache in enumerate(self._caches.values()):
            self.state |= {f"cache{index}.{name}": getattr(cache, name)
                           for name in ("keys", "values", "written", "position")}

        # What a step computes from them.
        self._starts = zeros(agents, dtype=torch.bool)
        self._keys = zeros(agents, 2, dtype=torch.int64)
        self.actions = actor.to_env(torch.zeros_like(self._previous_actions)).clone()
        self._observe, self._passes = self._begin, [partial(self._drive, index) for index in range(len(self.partners))]
        self._lists: list[list[Tensor]] = [[] for _ in self.partners]
        self._agents: list[Tensor | None] = [None] * len(self.partners)
        self._host: Tensor | None = None

    def _cache(self, policy: Policy, agents: int) -> KVCache:
        config = policy.config
        layers = config.layers * len(policy.trunks) if policy.has_memory else 0
        key = (layers, config.kv_heads or config.heads, config.width // config.heads, policy.context, policy.kv_dtype)
        if key not in self._caches:
            self._caches[key] = policy.make_cache(agents, 1, self.device)
        return self._caches[key]

    def capture(self) -> None:
        """Captures the parts of a step as graphs, on a GPU."""
        if self.device.type != "cuda":
            return
        mean = int(self._batch.coplayer.sum()) / len(self.partners)  # about as many in other episodes
        size = min(int(mean * (1 + SPARE_SHARE)) + SPARE_AGENTS, len(self._step))
        passes = -(-len(self._step) // size)
        # One copy to the device per step: the keys of all agents, and the lists of all passes.
        self._host = torch.zeros(2 * len(self._step) + len(self.partners) * passes * size, dtype=torch.int64,
                                 pin_memory=True)
        self._block = self._host.to(self.device)
        self._keys = self._block[: 2 * len(self._step)].view(-1, 2)
        self._list_block = self._block[2 * len(self._step) :].view(len(self.partners), passes, size)
        self._agents = [torch.arange(size, device=self.device) for _ in self.partners]
        state = [tensor for name, tensor in self.state.items() if not name.endswith((".keys", ".values"))]
        captured = partial(CapturedFunction, device=self.device, state=[*state, self._starts, self.actions])
        self._observe, self._passes = captured(self._begin), [captured(one) for one in self._passes]

    def act(self) -> None:
        """Computes the actions of the co-players for the current observations; it is called once for each."""
        if self.assignment.advance():
            self.list_agents()
        self._observe()
        for index, lists in enumerate(self._lists):
            for agents in lists:
                if self._host is None:
                    self._agents[index] = agents
                else:
                    self._agents[index].copy_(agents)
                self._passes[index]()

    def list_agents(self) -> None:
        """Lists the agents of each partner, after a draw."""
        partner = torch.from_numpy(self.assignment.partner)
        driven = [(partner == index).nonzero()[:, 0] for index in range(len(self.partners))]
        if self._host is None:
            self._lists = [[agents.to(self.device)] if len(agents) else [] for agents in driven]
            self._keys.copy_(torch.from_numpy(self.assignment.keys))
            return
        # The last copy has ended: the host has waited for actions since.
        keys, lists = self._host.split([self._keys.numel(), self._list_block.numel()])
        keys.copy_(torch.from_numpy(self.assignment.keys).flatten())
        of_partner = lists.view(self._list_block.shape)
        for index, agents in enumerate(driven):
            size = of_partner.shape[2]
            passes = -(-len(agents) // size)
            if passes:  # the rest of the last pass is its first agent: it is computed again, with the same results
                rest = agents[(passes - 1) * size].expand(passes * size - len(agents))
                of_partner[index, :passes] = torch.cat([agents, rest]).view(passes, size)
            self._lists[index] = list(self._list_block[index, :passes])
        self._block.copy_(self._host, non_blocking=True)

    @torch.no_grad()
    def _begin(self) -> None:
        """What a new observation changes for all agents: where trials start, memories, and what a first one shows."""
        first, trial = self.arrays["first"], self.arrays["trial_index"]
        self._starts.copy_(first | (trial != self._trial))
        self._trial.copy_(trial)
        self._step.copy_(torch.where(self._starts, 0, self._step + 1))
        for cache in self._caches.values():
            cache.reset(self._starts if self.forgets else first)
        own = self._features.read(self.arrays["observations"]).float()
        self._of_first.copy_(torch.where(first[:, None], own, self._of_first))

    @torch.no_grad()
    def _drive(self, index: int) -> None:
        """The actions of a partner for the agents of a pass."""
        partner, agents, arrays = self.partners[index], self._agents[index], self.arrays
        policy, actor = partner.policy, partner.policy.actor
        observations = arrays["observations"][agents].float()
        if self.forgets:
            observations = self._features.replaced(observations, self._of_first[agents], self._trial[agents] > 0,
                                                   self._starts[agents])
        if partner.reward_factor != 1.0:
            observations = observations.clone()
            observations[:, self._reward] = (observations[:, self._reward] * partner.reward_factor).clamp(
                partner.reward_low, 1.0)
        before, valid_token = self._previous_actions[agents], ~arrays["waits"][agents]
        parameters, _ = policy.step(observations, before, valid_token, self._cache_of[index].at(agents))
        actions = actor.mode(parameters) if self.deterministic else actor.quantile(
            parameters, uniform(self._keys[agents], self._step[agents], actor.components))
        self._previous_actions.index_copy_(0, agents, torch.where(valid_token[:, None], actions, before))
        self.actions.index_copy_(0, agents, actor.to_env(actions))

    # ---- state ----

    def tensors(self) -> dict[str, Tensor]:
        """The state, episodes and the weights' hashes included, as a checkpoint has it."""
        hashes = [list(bytes.fromhex(partner.sha256)) for partner in self.partners]
        return self.state | {"episodes": torch.from_numpy(self.assignment.episodes),
                             "weights": torch.tensor(hashes, dtype=torch.uint8)}

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Continues from the state of another driver, whose batch has been restored."""
        for name, tensor in self.state.items():
            tensor.copy_(tensors[name])
        self.assignment.restore(tensors["episodes"].numpy())
        self.list_agents()
