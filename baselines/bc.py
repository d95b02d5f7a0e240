"""Behaviour cloning: how does a policy learn to drive as an expert does? The expert drives, and the policy predicts it.

    python -m baselines.bc small --env.scenes folder_of_logs     the human drivers of logs
    python -m baselines.bc town --expert.policy lane             the rule-based driver
    python -m baselines.bc town --expert.policy lane --expert.drives-share 0.5
                                                                 in half of the worlds the policy drives, and the
                                                                 expert labels the states (DAgger)

The policy, its context, the folder of the run and all other options are those of `baselines.ppo`; a preset is changed
to `expert.policy` "replay" in all worlds, `imitation_weight` 1 and `entropy_weight` 0. The critic learns the returns of
the expert, so that PPO can continue from there:

    python -m baselines.ppo small --run.folder runs/tuned --run.start-from runs/small_cloned

With a small weight, the imitation loss regularises PPO. The expert can be the cloned policy itself, whose
samples make the imitation loss an estimate of KL(cloned || policy), up to a constant:

    python -m baselines.ppo small --run.start-from runs/small_cloned --expert.policy runs/small_cloned \\
        --ppo.imitation-weight 0.02
"""

from __future__ import annotations

if __name__ == "__main__":  # before the imports, which take seconds
    from .tools.interrupts import ExitOnInterrupt

    ExitOnInterrupt("baselines.bc").install()

from .config import TrainConfig
from .experts import LOGS
from .ppo import main as ppo_main


def cloning(config: TrainConfig) -> TrainConfig:
    """The config for cloning the human drivers of logs, from one for PPO."""
    return config.changed(expert={"policy": LOGS, "drives_share": 1.0}, run={"folder": f"{config.run.folder}_cloned"},
                          ppo={"imitation_weight": 1.0, "entropy_weight": 0.0, "final_entropy_weight": None})


def main() -> None:
    """The command: the name of a preset, optional, then fields of the config."""
    ppo_main("baselines.bc", f"{__doc__}\n", cloning)


if __name__ == "__main__":
    main()
