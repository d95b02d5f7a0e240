"""What can be configured in training? One frozen dataclass per concern; the command line is generated from them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_type_hints

from drive_env import ConfigError, DriveConfig, check_names

from .plain import plain, value_text

SEED_LIMIT = 2**63 - 1
"""The largest `run.seed`: half of the range of the core and torch, so that seeds derived from it, by adding updates and
multiples of a rank's stride, stay in that range."""

Credit = Literal["through", "per_trial", "stop"]
TimeLimits = Literal["bootstrap", "terminal"]
"""What gae.py offers, which explains each choice."""


def _check(name: str, value, is_valid: bool, allowed: str) -> None:
    if not is_valid:
        raise ConfigError(f"{name} is {value_text(value)}; it must be {allowed}")


@dataclass(frozen=True)
class _Plain:
    """Converts the values of its fields to plain data of their annotated types (plain.py)."""

    def __new__(cls, /, *values, **choices):
        """Rejects unknown names, for which the constructor made by `dataclass` would raise a plain TypeError."""
        check_names(cls.__name__, choices, _paths(cls))
        return super().__new__(cls)

    def __post_init__(self):
        for name, kind in _kinds(type(self)).items():
            value = getattr(self, name)
            if not is_dataclass(kind):
                value = plain(name, value, kind)
            elif isinstance(value, Mapping):
                value = _changed(name, kind(), value)
            elif not isinstance(value, kind):
                raise ConfigError(f"{name} is {value_text(value)}; it must be of type {kind.__name__}, or a dict of "
                                  "its fields")
            object.__setattr__(self, name, value)


@cache
def _kinds(config: type) -> dict[str, Any]:
    """The annotated type of every field, by name."""
    hints = get_type_hints(config)
    return {one.name: hints[one.name] for one in fields(config)}


@cache
def _paths(config: type) -> dict[str, str]:
    """The path of every field, nested ones included, by its name; own fields take precedence over nested ones."""
    nested = {leaf: f"{name}.{path}" for name, kind in _kinds(config).items() if is_dataclass(kind)
              for leaf, path in _paths(kind).items()}
    own = {one.name: one.name for one in fields(config)}
    return own | nested | own


def _explicit_path(source):
    """Adds `./` to an os.PathLike without a folder: as a bare string it could be the name of a generator."""
    try:
        path = os.fspath(source) if isinstance(source, os.PathLike) else None
    except TypeError:  # its __fspath__ returns no path; the check of the field raises the error
        return source
    bare = isinstance(path, str) and not os.path.dirname(path)
    return os.path.join(os.curdir, path) if bare else source


@dataclass(frozen=True)
class EnvConfig(_Plain):
    """Which worlds are simulated."""

    scenes: tuple[str, ...] = ("town",)
    """Names of generators, and paths of files and folders; a path with a generator's name is written `./town`."""
    scene_count: int = 64
    """Scenes per generator, with seeds 0, 1, ..."""
    scene_counts: dict[str, int] = field(default_factory=dict)
    """Scenes of some generators, by name, instead of `scene_count`. Worlds play all scenes equally often, so that a
    generator with more scenes is played more often."""
    scene_agents: int | None = None
    """Vehicles in a generated scene; None: `drive.agents_per_world`, or the generator's default if it is larger."""
    scene_agents_of: dict[str, int] = field(default_factory=dict)
    """Vehicles in the scenes of some generators, by name, instead of `scene_agents`."""
    scene_parameters: dict[str, int | float | tuple[int | float, ...]] = field(default_factory=dict)
    """Further parameters of the generators, such as `arm_length_m`."""
    num_worlds: int = 16
    """Worlds of all ranks in total."""
    env_groups: int | None = None
    """Batches that take turns, so that the core steps one while the policy infers for another; None: 2 on a GPU,
    else 1."""
    threads: int = 0
    """Threads that step the worlds of a process; 0: one per available core."""
    reward_function: str | None = None
    """A function that rewards each step in training, as `package.module:name`, see `Batch(reward=...)`; None: the
    reward of `drive`, which evaluations use in any case."""
    drive: DriveConfig = field(default_factory=DriveConfig)
    """The config of the env."""

    def __post_init__(self):
        if isinstance(self.scenes, (list, tuple)):
            object.__setattr__(self, "scenes", tuple(map(_explicit_path, self.scenes)))
        super().__post_init__()
        _check("scenes", self.scenes, len(self.scenes) > 0, "at least one name or path")
        for name in ("scene_count", "num_worlds", "env_groups", "scene_agents"):
            value = getattr(self, name)
            _check(name, value, value is None or value >= 1, "1 or more")
        for name in ("scene_counts", "scene_agents_of"):
            found = getattr(self, name)
            _check(name, found, found.keys() <= set(self.scenes), f"a dict with keys from scenes, {self.scenes}")
            _check(name, found, all(value >= 1 for value in found.values()), "a dict of numbers from 1 on")
        _check("threads", self.threads, self.threads >= 0, "0 or more")

    def count_of(self, generator: str) -> int:
        """The number of its scenes."""
        return self.scene_counts.get(generator, self.scene_count)

    def on_scenes(self, scenes: tuple[str, ...] = (), count: int | None = None, agents: int | None = None) -> EnvConfig:
        """A copy with other scenes; None and () change nothing. `count` and `agents` are set for all generators."""
        scenes = scenes or self.scenes
        kept = lambda found, other: {} if other is not None else {
            name: value for name, value in found.items() if name in scenes}
        return replace(self, scenes=scenes, scene_count=self.scene_count if count is None else count,
                       scene_counts=kept(self.scene_counts, count),
                       scene_agents=self.scene_agents if agents is None else agents,
                       scene_agents_of=kept(self.scene_agents_of, agents))


@dataclass(frozen=True)
class ModelConfig(_Plain):
    """The network."""

    width: int = 128
    """Floats of a token's vector between layers."""
    layers: int = 2
    """Transformer layers of a trunk."""
    heads: int = 4
    """Query heads of a layer."""
    kv_heads: int | None = None
    """Heads of keys and values, shared by groups of query heads (GQA); None: as many as `heads`."""
    object_width: int = 64
    """Width of the encoding of one vehicle or road segment."""
    context: int = 128
    """Tokens (steps at which the agent acts) of the episode that a step attends to, itself included."""
    critic: Literal["shared", "separate"] = "shared"
    """One trunk shared by actor and critic, or a trunk each."""
    memory: Literal["transformer", "none"] = "transformer"
    """`none` is a feed-forward policy of the current observation alone."""
    previous_action: bool = True
    """Whether the agent's last action is an input."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("width", "layers", "heads", "object_width", "context"):
            _check(name, getattr(self, name), getattr(self, name) >= 1, "1 or more")
        _check("width", self.width, self.width % (2 * self.heads) == 0, f"a multiple of 2 x heads = {2 * self.heads}")
        shared = self.heads if self.kv_heads is None else self.kv_heads
        _check("kv_heads", self.kv_heads, shared >= 1 and self.heads % shared == 0,
               f"a divisor of heads = {self.heads}")


@dataclass(frozen=True)
class PartnerConfig(_Plain):
    """The partners: frozen policies that drive the co-players of `env.drive.coplayers`."""

    checkpoints: tuple[str, ...] = ()
    """Folders of checkpoints, or of runs for their newest ones. Each co-player is driven by one of them, drawn per
    episode. None at all: the policy in training drives the co-players, too."""
    per_world: int = 1
    """The most partners that drive in one world; their number, 1 or more, is drawn per episode."""
    memory: Literal["kept", "per_trial"] = "kept"
    """kept: a partner remembers the earlier trials of an episode; per_trial: it forgets them, and its trial features
    are those of a first trial, so that it plays every trial alike."""
    deterministic: bool = False
    """Whether partners take their most probable actions, instead of samples."""

    def __post_init__(self):
        super().__post_init__()
        most = len(self.checkpoints)
        _check("per_world", self.per_world, self.per_world >= 1 and (not most or self.per_world <= most),
               f"from 1 to {most}, the number of partners.checkpoints" if most else "1 or more")


@dataclass(frozen=True)
class ExpertConfig(_Plain):
    """The expert, whose actions the policy learns to take with `ppo.imitation_weight` (experts.py)."""

    policy: str | None = None
    """`replay`: the expert actions of the scenes' logs; another policy without training, such as `lane`; or the folder
    of a checkpoint or run, such as that of a cloned policy. None: there is no expert."""
    drives_share: float = 0.0
    """Share of the worlds in which the expert drives. In the others the policy drives, and the expert labels the
    states."""
    deterministic: bool = False
    """Whether a checkpoint as the expert takes its most probable actions, instead of samples."""

    def __post_init__(self):
        super().__post_init__()
        _check("drives_share", self.drives_share, 0 <= self.drives_share <= 1, "from 0 to 1")
        _check("drives_share", self.drives_share, self.policy is not None or self.drives_share == 0,
               "0 where expert.policy is None")


@dataclass(frozen=True)
class PPOConfig(_Plain):
    """The algorithm (Schulman et al. 2017)."""

    agent_steps: int = 20_000_000
    """Agent-steps in the loss mask, of all ranks in total, after which training ends."""
    rollout_steps: int = 64
    """Steps of every world per update."""
    epochs: int = 2
    minibatches: int = 4
    """Optimiser steps per epoch; each uses the whole rollout of some of the agents."""
    gamma: float = 0.995
    """Discount per step of the agent. Over a trial of 200 steps, 0.98 leaves 1.8% for the next trial, 0.995 37%."""
    gae_lambda: float = 0.95
    """Lambda of the generalised advantage estimation."""
    credit: Credit = "through"
    """Whether credit flows from a trial into the one before it (gae.py)."""
    gamma_trial: float | None = None
    """Discount across the end of a trial; None: `gamma`."""
    time_limits: TimeLimits = "bootstrap"
    """The value after a time limit that cuts credit: that of the last observation, or 0 (gae.py)."""
    normalise_advantages: Literal["batch", "trial"] = "batch"
    """Over which steps advantages get mean 0 and standard deviation 1: all, or those of each trial index alone."""
    clip: float = 0.2
    """Ratios are clipped to 1 - clip .. 1 + clip."""
    value_weight: float = 0.5
    """Of the value loss."""
    entropy_weight: float = 0.005
    """Of the mean entropy, which is maximised."""
    final_entropy_weight: float | None = None
    """Weight to which `entropy_weight` changes linearly over `agent_steps`; None: it is constant."""
    noise_correlation: float = 0.0
    """Probability with which an agent keeps the noise by which it sampled its last action, within a trial: noise lasts
    1 / (1 - p) steps on average (rollout/noise.py). 0: all noise is independent."""
    informed_weight: float = 0.0
    """Weight of KL(informed || policy): the informed policy is what the network would do if it observed its
    goal (informed.py). Above 0 it needs `env.drive.critic_observations`, and a hidden goal
    (`observation.goal_reveal_s`)."""
    imitation_weight: float = 0.0
    """Weight of the negative log-probability of the expert's actions. Above 0 it needs `expert.policy`."""
    target_kl: float | None = None
    """The epochs of an update end early after one whose approximate KL, the mean over its minibatches with data, is
    above it; None: never."""
    learning_rate: float = 3e-4
    """Of AdamW, before warm-up and annealing."""
    anneal: bool = True
    """Whether the learning rate decreases linearly to 0 over `agent_steps`."""
    warmup_updates: int = 0
    """Updates over which the learning rate increases linearly from 0."""
    weight_decay: float = 0.0
    """Of AdamW, for all parameters."""
    max_grad_norm: float = 0.5
    """Larger gradients are scaled to this L2 norm, over all parameters."""
    recompute_context: bool = False
    """Whether the KV cache is recomputed with the new weights after each update (rollout/recomputation.py)."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("agent_steps", "rollout_steps", "epochs", "minibatches"):
            _check(name, getattr(self, name), getattr(self, name) >= 1, "1 or more")
        for name in ("gamma", "gae_lambda", "gamma_trial"):
            value = getattr(self, name)
            _check(name, value, value is None or 0 <= value <= 1, "from 0 to 1")
        _check("noise_correlation", self.noise_correlation, 0 <= self.noise_correlation < 1, "from 0 to below 1")
        for name in ("clip", "max_grad_norm"):
            _check(name, getattr(self, name), getattr(self, name) > 0, "above 0")
        for name in ("value_weight", "entropy_weight", "final_entropy_weight", "informed_weight",
                     "imitation_weight", "learning_rate", "weight_decay", "warmup_updates", "target_kl"):
            value = getattr(self, name)
            _check(name, value, value is None or value >= 0, "0 or more")


@dataclass(frozen=True)
class RunConfig(_Plain):
    """The machine, the folder, checkpoints, evaluations and logs of a run."""

    folder: str = "runs/default"
    """Where checkpoints, logs and curves are written; it holds one run."""
    seed: int = 0
    """Of the initial weights, the sampled actions and the worlds."""
    device: str = "auto"
    """A device of torch; auto: a GPU if there is one, else the CPU."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto: bfloat16 on a GPU, else float32."""
    torch_threads: int | None = None
    """Threads of torch on a CPU; None: torch's default. Small models are fastest with one."""
    compile: bool | None = None
    """Whether the model is compiled; None: on a GPU."""
    minutes: float | None = None
    """Stop after this many minutes, even if `agent_steps` are not reached."""
    start_from: str | None = None
    """A checkpoint, or the folder of a run, whose weights a new run starts with (tools/parent.py)."""
    resume: bool = False
    """Continue from the newest checkpoint in the folder."""
    overwrite: bool = False
    """Delete the run in the folder and start a new one."""
    checkpoint_updates: int = 100
    """Updates between checkpoints; 0: one checkpoint, at the end."""
    keep_checkpoints: int = 3
    """Older ones are deleted."""
    best_metric: str | None = None
    """Metric of evaluations, such as `goal`, by which the best checkpoint is also kept; with a minus in front, such as
    `-collision`, the lowest value is the best."""
    evaluate_updates: int = 100
    """Updates between evaluations; 0: one evaluation, at the end."""
    evaluate_scenes: int | None = None
    """Number of the scenes that an evaluation plays, evenly spread over all of them; None: all."""
    evaluators: str | None = None
    """A TOML file with sections [eval.NAME] (docs/evaluation.md), whose evaluators run at their intervals and at the
    end; None: none."""
    tensorboard: bool = False
    """Also log to TensorBoard: `tensorboard --logdir runs` shows the runs of that folder."""
    wandb: bool = False
    """Also log to Weights & Biases; a run that is resumed continues its curves there."""
    wandb_project: str | None = None
    """Project in Weights & Biases; None: that of WANDB_PROJECT, or W&B's default."""
    wandb_name: str | None = None
    """Name of the run in Weights & Biases; None: W&B makes one."""
    progress: bool = True
    """Show a progress bar."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("checkpoint_updates", "evaluate_updates"):
            _check(name, getattr(self, name), getattr(self, name) >= 0, "0 or more")
        _check("seed", self.seed, 0 <= self.seed <= SEED_LIMIT, f"from 0 to {SEED_LIMIT}")
        count = self.evaluate_scenes
        _check("evaluate_scenes", count, count is None or count >= 1, "1 or more")
        _check("keep_checkpoints", self.keep_checkpoints, self.keep_checkpoints >= 1, "1 or more")
        _check("torch_threads", self.torch_threads, self.torch_threads is None or self.torch_threads >= 1, "1 or more")
        _check("minutes", self.minutes, self.minutes is None or self.minutes > 0, "above 0")
        _check("overwrite", self.overwrite, not (self.overwrite and self.resume), "False where resume is True")
        for name in ("wandb_project", "wandb_name"):
            value = getattr(self, name)
            _check(name, value, value is None or self.wandb and value, "None, or a text where wandb is True")
        deleted = self.overwrite and self.start_from is not None and Path(self.start_from).resolve().is_relative_to(
            Path(self.folder).resolve())
        _check("start_from", self.start_from, not deleted, f"outside of {self.folder!r}, which overwrite deletes")


@dataclass(frozen=True)
class TrainConfig(_Plain):
    """The whole config of a training run."""

    env: EnvConfig = field(default_factory=EnvConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    partners: PartnerConfig = field(default_factory=PartnerConfig)
    expert: ExpertConfig = field(default_factory=ExpertConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self):
        super().__post_init__()
        drive = self.env.drive
        informs = drive.critic_observations and drive.observation.goal_reveal_s is not None
        _check("informed_weight", self.ppo.informed_weight, self.ppo.informed_weight == 0 or informs,
               "0 unless env.drive has critic_observations and hides the goal (observation.goal_reveal_s)")
        _check("checkpoints", self.partners.checkpoints, not self.partners.checkpoints or drive.coplayers > 0,
               "empty unless env.drive.coplayers is above 0: partners drive co-players")
        has_expert = self.expert.policy is not None
        _check("imitation_weight", self.ppo.imitation_weight, (self.ppo.imitation_weight > 0) == has_expert,
               "above 0 where expert.policy is set" if has_expert else "0 where expert.policy is None")

    def changed(self, /, **parts: dict) -> TrainConfig:
        """A copy with some fields changed: `config.changed(ppo={"gamma": 0.9}, env={"drive": {"dt_s": 0.2}})`.

        Raises:
            ConfigError: there is no such field, or a value does not fit.
        """
        return _changed("config", self, parts)

    def to_dict(self) -> dict[str, Any]:
        """The config as JSON data: `TrainConfig.from_dict(config.to_dict()) == config`."""
        return json.loads(json.dumps(asdict(self), allow_nan=False))

    @staticmethod
    def from_dict(found: Mapping[str, Any]) -> TrainConfig:
        """The config from a dict of `to_dict`; missing fields get the current defaults.

        Raises:
            ConfigError: there is no such field, or a value does not fit.
        """
        return _changed("config", TrainConfig(), found)


@dataclass(frozen=True)
class PopulationConfig(_Plain):
    """The runs of a population (population.py): partners, and egos that are trained among them."""

    folder: str = "runs/population"
    """Each run has a folder in it."""
    entropy_weights: tuple[float, ...] = (0.003, 0.02)
    """Of the partners' trainings; partners take the combinations of these weights and rewards in turn."""
    collision_rewards: tuple[float, ...] = (-0.2, -1.0)
    """Rewards of a collision in the partners' trainings."""
    egos: tuple[int, ...] = (2, 4)
    """One ego for each entry, trained with as many partners, the first ones."""
    unseen: int = 2
    """Further partners, with which no ego is trained."""
    coplayers: int | float = 0.5
    """Agents of each world that partners drive in the egos' trainings, as `env.drive.coplayers`."""
    runs: tuple[str, ...] = ()
    """Names of the runs to train now; (): all."""
    base: TrainConfig = field(default_factory=TrainConfig)
    """The config of the runs, apart from what differs between them; `base.partners` says how partners drive."""

    def __post_init__(self):
        super().__post_init__()
        for name in ("entropy_weights", "collision_rewards", "egos"):
            _check(name, getattr(self, name), len(getattr(self, name)) > 0, "at least one number")
        _check("egos", self.egos, min(self.egos) >= 1 and len(set(self.egos)) == len(self.egos),
               "different numbers from 1 on")
        _check("unseen", self.unseen, self.unseen >= 1, "1 or more")
        _check("coplayers", self.coplayers, self.coplayers > 0, "above 0")
        base = self.base
        for name, value, unset in (("base.partners.checkpoints", base.partners.checkpoints, ()),
                                   ("base.env.drive.coplayers", base.env.drive.coplayers, 0)):
            _check(name, value, value == unset, f"{unset!r}: the population sets it")
        _check("base.run.overwrite", base.run.overwrite, not base.run.overwrite, "False: runs are resumed")


def _changed(name: str, config, changes: Mapping[str, Any]):
    """A copy with these fields changed; a dict as the value of a nested config changes fields of it."""
    if not isinstance(changes, Mapping):
        raise ConfigError(f"{name} is {value_text(changes)}; it must be a dict of its fields")
    if isinstance(config, DriveConfig):
        return config.replace(**{str(key): value for key, value in changes.items()})
    check_names(type(config).__name__, changes, _paths(type(config)))
    found = {}
    for key, value in changes.items():
        was = getattr(config, key)
        found[key] = _changed(key, was, value) if isinstance(value, Mapping) and is_dataclass(was) else value
    return replace(config, **found)
