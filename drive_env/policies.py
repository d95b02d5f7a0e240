"""Which policy does an argument `policy` stand for? One list for films, replay pages, evaluations and commands.

A policy is a function from the batch to the actions of all agents, with the shape and type of `batch.actions`. It is
called once per step; its actions for agents that wait have no effect. A policy with a memory may have a method
`reset(mask)`, which is called with the agents whose episode begins, (R,) bool, before the policy acts on their first
observations, and never between the trials of an episode. The path of a checkpoint or of an exported policy stands for
the policy in it.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .batch import Batch
from .config import ConfigSource, DisturbanceConfig, DriveConfig, DynamicsConfig, HiddenConfig, checked_config
from .drivers import LaneDriver, ParkingDriver
from .drivers.controls import action_of_shares, check_controls
from .drivers.random import sampled_actions
from .errors import ConfigError, MissingExtraError, value_text
from .expert_actions import agents_expert_actions
from .imported import imported_function, searching
from .names import named_arguments
from .trained import (
    PACKAGED, SUFFIX, Act, MakeAct, TrainedPolicy, bound, is_packaged, policy_of, read_policy, with_reset)

__all__ = ["POLICIES", "Act", "MakeAct", "Policy", "TrainedPolicy", "load_policy", "policy_maker"]

Policy = str | os.PathLike[str] | Act | TrainedPolicy
"""One of `POLICIES`; "generalist" or "hidden_exit", the trained policies of the package; "package.module:name" of a
function or class; the folder of a checkpoint or of a run; the file of an exported policy (`load_policy`); or a function
from the batch to the actions of all agents, with an optional method `reset(mask)` for the agents whose episode begins.
An object with a method `for_batch(batch)`, which returns such a function, is accepted, too."""


class NamedPolicy(NamedTuple):
    """A policy with a name.

    Attributes:
        make: makes the policy for a batch and a seed.
        needs: what it requires of scenes and config; text for the docs.
        does: what it does; text for the docs.
    """

    make: Callable[[Batch, int], Act]
    needs: str
    does: str


# ---- policies with names ----


def _lane(batch: Batch, seed: int, overtakes: bool = True) -> Act:
    driver = LaneDriver(batch, overtakes=overtakes)
    return lambda batch: driver.act_all()


def _parking(batch: Batch, seed: int) -> Act:
    driver = ParkingDriver(batch)
    return lambda batch: driver.act_all()


def _random(batch: Batch, seed: int) -> Act:
    """Actions of a world depend on the seed and the world's id alone, not on the other worlds of the batch."""
    config, shape = batch.config, (batch.num_worlds, batch.agents_per_world)
    streams = [np.random.default_rng([seed, int(world_id)]) for world_id in batch.world_ids]
    actions = np.zeros_like(batch.actions)
    by_world = actions.reshape(*shape, *actions.shape[1:])

    def act(batch: Batch) -> np.ndarray:
        for world, (stream, scene) in enumerate(zip(streams, batch.scene_index, strict=True)):
            agents = batch.roles[scene].num_agents
            by_world[world, :agents] = sampled_actions(config, stream, agents)
        return actions

    return act


def _constant(batch: Batch, seed: int) -> Act:
    check_controls(batch.config)
    actions = np.broadcast_to(neutral_action(batch.config), batch.actions.shape)
    return lambda batch: actions


def _replay(batch: Batch, seed: int) -> Act:
    for roles in batch.roles:
        if len(roles.frames.valid) == 1 or roles.scene.generated:
            raise ConfigError(f"policy is 'replay'; scene {roles.scene.name} has no logs of agents to replay")
    config, of_scene = batch.config, {}
    by_world = np.zeros_like(batch.actions).reshape(batch.num_worlds, batch.agents_per_world, -1)

    def act(batch: Batch) -> np.ndarray:
        steps = trial_clock(batch)
        for world, scene in enumerate(batch.scene_index.tolist()):
            if scene not in of_scene:
                of_scene[scene] = _logged_actions(batch, scene)
            logged = of_scene[scene]
            by_world[world] = logged[min(steps[world], len(logged) - 1)]
        return by_world.reshape(batch.actions.shape)

    return act


def trial_clock(batch: Batch) -> np.ndarray:
    """(W,) the number of steps of the trial in every world."""
    state = batch._core.state
    return (state["clock_steps"] + state["age_steps"])[:, 0]


def _logged_actions(batch: Batch, scene: int) -> np.ndarray:
    """(steps, agents, numbers): the actions with which the agents of a world follow their logs in a trial."""
    roles = batch.roles[scene]
    logged = agents_expert_actions(roles, batch.config, roles.trial_steps, batch.agents_per_world)
    actions = logged.actions.reshape(*logged.valid.shape, -1)
    if batch.config.dynamics.model != "state":
        return actions
    # In a played trial the vehicle was removed at its goal, so its log ends one step before: add a step like the last.
    for agent in range(roles.num_agents):
        steps = np.flatnonzero(logged.valid[:, agent])
        if len(steps) > 1 and steps[-1] - steps[-2] == 1 and steps[-1] + 1 < len(actions):
            end = int(steps[-1]) + 1
            actions[end:, agent, :2] += actions[steps[-1], agent, :2] - actions[steps[-2], agent, :2]
            actions[end, agent, 3] = actions[steps[-1], agent, 3]
    return actions


def neutral_action(config: DriveConfig) -> np.ndarray:
    """The action of one agent whose numbers are all 0, or their nearest bins, in the form of `batch.actions`."""
    return action_of_shares({}, config)


ACCELERATION = "a vehicle model whose actions set an acceleration and a wheel angle or curvature"

KNOWN = {
    "lane": NamedPolicy(_lane, f"lanes or logs; {ACCELERATION}", "`LaneDriver`: follows lanes by rule"),
    "random": NamedPolicy(_random, "nothing", "samples actions uniformly; each world has a stream of its own"),
    "parking": NamedPolicy(_parking, f"a parking lot, reverse (`dynamics.min_speed_mps`), {ACCELERATION}",
                           "`ParkingDriver`: parks by rule"),
    "constant": NamedPolicy(_constant, ACCELERATION, "keeps its speed and drives straight on"),
    "idm": NamedPolicy(lambda batch, seed: _lane(batch, seed, overtakes=False), f"lanes or logs; {ACCELERATION}",
                       "as `lane`, but stays behind slow vehicles (intelligent driver model)"),
    "replay": NamedPolicy(_replay, "logs", "takes the [expert actions](actions.md#expert-actions) of the log"),
}

POLICIES = tuple(KNOWN)
"""Names of policies that need no training; docs/evaluation.md lists what each does and requires."""


# ---- any policy ----


def resolved(policy: Policy) -> str | Act | TrainedPolicy:
    """Checks a policy, and imports or reads what it names: returns one of `POLICIES`, a function, or an object.

    Raises:
        ConfigError: it is no `Policy`, or what it names cannot be imported or read.
        MissingExtraError: it is a checkpoint, and a package of the extra `train` is not installed.
    """
    if isinstance(policy, str) and policy in KNOWN:
        return policy
    if (trained := _trained(policy)) is not None:
        return trained
    if isinstance(policy, str) and ":" in policy:
        return imported_function("policy", policy, "for_batch")
    if isinstance(policy, type):
        name = policy.__qualname__
        raise ConfigError(f"policy is the class {name}; it must be an instance, as {name}()")
    if (callable(policy) or callable(getattr(policy, "for_batch", None))) and not isinstance(policy, os.PathLike):
        return policy
    names = ", ".join(map(repr, (*POLICIES, *PACKAGED)))
    raise ConfigError(f"policy is {value_text(policy)}; it must be a function or one of {names}, an object with a "
                      "method for_batch, or 'package.module:name' of one, the folder of a checkpoint or of a run, or "
                      f"an exported policy, a file *{SUFFIX}")


@named_arguments
def load_policy(source: str | os.PathLike[str]) -> TrainedPolicy:
    """A trained policy, which takes its most probable actions.

    The policy of a file is computed by numpy, that of a checkpoint by the trainer with torch. The last digits of sums
    can differ between machines and between batches of different sizes, and with them, rarely, an action.

    Args:
        source: "generalist" or "hidden_exit", the policies of the package (docs/evaluation.md); the path of a file
            that `python -m baselines.export` wrote; or the folder of a checkpoint, or of a run, whose newest checkpoint
            counts.

    Raises:
        ConfigError: there is no such file or folder, or it has no policy, or a damaged one.
        MissingExtraError: it is a checkpoint, and a package of the extra `train` is not installed.
    """
    if (trained := _trained(source)) is not None:
        return trained
    names = ", ".join(map(repr, PACKAGED))
    raise ConfigError(f"source is {value_text(source)}; it must be {names}, a file *{SUFFIX} of baselines.export, or "
                      "the folder of a checkpoint or of a run")


def policy_maker(policy: Policy, seed: int = 0) -> MakeAct:
    """A function that takes a batch that has not been reset yet and returns the policy for it.

    The actions of that policy are in the form of `batch.actions`. For an object with a method `for_batch(batch)`, it is
    what that method returns.

    Args:
        policy: a policy in any form. seed: of the policy "random".

    Raises:
        ConfigError: it is neither a function nor a known name, or what it names cannot be imported. The returned
            function raises one if `for_batch` does not return a function.
    """
    found = resolved(policy)
    if isinstance(found, str):
        return bound(lambda batch: KNOWN[found].make(batch, seed))
    if isinstance(found, TrainedPolicy):
        return found.for_batch
    if not callable(make_act := getattr(found, "for_batch", None)):
        return lambda batch: with_reset(found)
    return lambda batch: with_reset(make_act(batch))


def _trained(source: Any) -> TrainedPolicy | None:
    """The policy of a name, of a checkpoint's folder, or of an exported policy's file; None if it is none of these."""
    if is_packaged(source):
        return policy_of(read_policy(PACKAGED[source]), source)
    path = os.fspath(source) if isinstance(source, (str, os.PathLike)) else None
    if not isinstance(path, str):
        return None
    if os.path.isdir(path):
        return _of_checkpoint(path)
    return policy_of(read_policy(path), path) if path.endswith(SUFFIX) else None


def _of_checkpoint(path: str) -> TrainedPolicy:
    """The policy in the folder of a checkpoint or of a run, whose newest checkpoint counts.

    The trainer belongs to the checkout and not to the wheel: it is imported from the checkout that this package is part
    of, else from the working directory.
    """
    checkout = Path(__file__).parents[1]
    folder = str(checkout if (checkout / "baselines" / "evaluate.py").is_file() else Path.cwd())
    try:
        with searching(folder):
            read_checkpoint = importlib.import_module("baselines.evaluate").policy_of
    except (ModuleNotFoundError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] != "baselines":
            raise MissingExtraError(f"policy is {path!r}, a folder; to read a checkpoint, {error.name} must be "
                                    'installed, by pip install -e ".[train]" in the checkout') from None
        raise ConfigError(f"policy is {path!r}, a folder; the package baselines that reads checkpoints is in the "
                          f"checkout of drive-env and not in {folder!r}, so this must run in the checkout") from None
    except ImportError as error:  # its sentence names the extra
        raise MissingExtraError(f"policy is {path!r}, a folder; to read a checkpoint, {error}") from None
    return read_checkpoint(path)


def config_or_trained(config: ConfigSource | None, policy: Policy) -> ConfigSource | None:
    """`config`; where it is None, that of the training of a trained policy, and None for any other policy."""
    return policy.config if config is None and isinstance(policy, TrainedPolicy) else config


def config_of_episode(config: ConfigSource | None, policy: Policy, trials: int | None, agents: int | None
                      ) -> DriveConfig:
    """The config of an episode that is shown: as from `config_or_trained`, with `max_trials` and `agents_per_world`
    where `trials` and `agents` set them.
    """
    changes = {"max_trials": trials, "agents_per_world": agents}
    return checked_config(config_or_trained(config, policy)).replace(
        **{name: value for name, value in changes.items() if value is not None})


def config_for(policy: Policy, config: DriveConfig) -> DriveConfig:
    """The config with which a policy is evaluated: `config`, but for "replay" one that follows logs exactly.

    With other vehicle models, expert actions lead some decimetres off the log, which would count as collisions.
    """
    if policy != "replay":
        return config
    defaults = {"hidden": HiddenConfig(), "disturbances": DisturbanceConfig(), "action_mask": False}
    return config.replace(dynamics=DynamicsConfig(model="state"), action_type="continuous", **defaults)
