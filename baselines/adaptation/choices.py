"""Which candidate goal does an agent choose in a trial? The one that it came closest to, as its observations show."""

from __future__ import annotations

import numpy as np

from drive_env import Batch, MetricValue
from drive_env.policies import Act, MakeAct


class Choices:
    """Records the choices of agents in the first episode of each world, while their policy is evaluated."""

    def __init__(self):
        self._least: list[np.ndarray] = []
        """(agents, trials, candidates) least distance to each candidate, scaled; infinite where it was not observed."""

    def recorded(self, make_act: MakeAct) -> MakeAct:
        """The same policy, whose choices are recorded where its observations have candidate goals."""

        def make(batch: Batch) -> Act:
            act, layout = make_act(batch), batch.observation_layout()
            x, y, kind = (layout[f"candidates/{name}"] for name in ("x", "y", "kind"))
            if not kind.slots:
                return act
            least = np.full((batch.num_agents, batch.config.max_trials, kind.slots), np.inf)
            episodes = np.zeros(batch.num_agents, np.int64)
            self._least.append(least)

            def recorded_act(batch: Batch) -> np.ndarray:
                np.add(episodes, batch.first, out=episodes)
                agents = np.flatnonzero(~batch.waits & (episodes == 1) & ~(batch.config.coplayers and batch.coplayer))
                observed = batch.observations[agents].astype(np.float64)
                distance = np.where(observed[:, kind.slice] > 0,
                                    np.hypot(observed[:, x.slice], observed[:, y.slice]), np.inf)
                trial = batch.trial_index[agents]
                least[agents, trial] = np.minimum(least[agents, trial], distance)
                return act(batch)

            return recorded_act

        return make

    def entropies(self) -> dict[str, MetricValue]:
        """`choice_entropy_trial_<k>`: entropy of the choices of all agents in trial k, in nats. It is log n if all n
        candidates are chosen equally often, and 0 if one is always chosen. Empty without candidates."""
        found = {}
        least = np.concatenate(self._least) if self._least else np.empty((0, 0, 0))
        for trial in range(least.shape[1]):
            chosen = least[:, trial][np.isfinite(least[:, trial]).any(1)].argmin(1)
            shares = np.bincount(chosen) / max(len(chosen), 1)
            entropy = -(shares[shares > 0] * np.log(shares[shares > 0])).sum()
            found[f"choice_entropy_trial_{trial}"] = MetricValue(float(entropy), len(chosen))
        return found
