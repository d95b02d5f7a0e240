"""How does an evaluator work? It lists episodes, plays each once, and computes figures from one row per trial."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..batch import Batch
from ..config import DriveConfig
from ..errors import ConfigError, DriveError, checked_int, checked_path, value_text
from ..policies import Act, MakeAct, Policy, TrainedPolicy, config_for, policy_maker, resolved
from ..scenes import Scene
from .episodes import Episode, Played, Probe, played
from .films import Candidates, check_views, with_films
from .metrics import figures_of_groups, figures_of_rows
from .probes import Comfort, DrivenScores, Probes
from .result import Coverage, EvalResult, Failure, films_folder, sha256_of
from .rows import joined, rows_of
from .settings import RENDERING, SCHEDULE, Allowed, EvaluatorConfig, checked_options
from .sources import Source, part_of, sample_of, sources_of

PLAYED: dict[str, Any] = {"detailed_metrics": True, "scene_order": "cycle"}
"""Fields of the worlds' config that every evaluation sets: all metrics, and to each world its own scene."""

UPDATE_LIMIT = WORLD_LIMIT = 2**63 - 1
"""Largest number of an update of the training, and largest id of a world."""


class Evaluator:
    """Measures a policy on a list of scenes. A type of evaluator is a subclass that overrides hooks.

    The hooks are `env_overrides`, `conditions`, `conditions_of`, `policy_under`, `worlds_at_once`, `sources`,
    `variants`, `act_maker`, `measured` and `probe`. Whatever they return, each episode is played exactly once, or the
    result says what was not played; a policy keeps its memory between the trials of an episode; and every figure is
    computed from all rows at once.

    Args:
        name: of the evaluator; together with `seed` it determines which scenes `sample` draws.
        config: its settings, or a mapping of them; None: the defaults of the type.

    Attributes:
        type: name of the type.
        defaults: settings whose defaults differ from those of `EvaluatorConfig`.
        options: the options of the type with their defaults. allowed: what each may be.
        all_options, all_allowed: the same, of all types; `scores` computes the scores of docs/scores.md of each trial.

    Raises:
        ConfigError: a setting is unknown or out of its range.
    """

    type: ClassVar[str] = ""
    defaults: ClassVar[Mapping[str, Any]] = {}
    options: ClassVar[Mapping[str, Any]] = {}
    allowed: ClassVar[Mapping[str, Allowed]] = {}
    all_options: ClassVar[Mapping[str, Any]] = {"scores": False}
    all_allowed: ClassVar[Mapping[str, Allowed]] = {"scores": (True, False)}

    def __init__(self, name: str, config: EvaluatorConfig | Mapping[str, Any] | None = None) -> None:
        if not isinstance(name, str) or not name:
            raise ConfigError(f"name is {value_text(name)}; it must be a text of at least one letter")
        self.name = name
        env = config.get("env") if isinstance(config, Mapping) else None
        if config is None or isinstance(config, Mapping):
            config = EvaluatorConfig.from_dict({**self.defaults, **(config or {})})
        if not isinstance(config, EvaluatorConfig):
            raise ConfigError(f"config is {value_text(config)}; it must be an EvaluatorConfig, or a mapping of its "
                              "fields")
        self.config = config
        self.chosen = checked_options(self.type, config.options, {**self.all_options, **self.options},
                                      {**self.all_allowed, **self.allowed})
        self.env: DriveConfig = config.env.replace(**PLAYED, **self.env_overrides())
        """The config of the worlds."""
        if isinstance(env, Mapping):
            self.check_env(env)
        if self.chosen["scores"] and self.env.on_goal == "respawn":
            raise ConfigError("eval.scores is True and env.on_goal is 'respawn'; a drive is scored from its start to "
                              "its end, so eval.scores must be False, or env.on_goal another response")

    # ---- hooks ----

    def env_overrides(self) -> dict[str, Any]:
        """Fields of the worlds' config that the type of evaluator sets."""
        return {}

    @property
    def worlds_at_once(self) -> int | None:
        """Number of worlds of a batch; None: as many as keep a machine busy."""
        return None

    def sources(self) -> list[Source]:
        """All sources of scenes, before a sample or a shard is taken of them."""
        config = self.config
        return sources_of(config.scenes, config.first_seed, config.scene_count, config.scene_agents,
                          config.scene_parameters, self.env.agents_per_world)

    def variants(self, scene: Scene) -> Sequence[Scene]:
        """The forms in which a scene is played, such as one for each vehicle that the policy drives in turn."""
        return [scene]

    def probe(self, batch: Batch) -> Probe:
        """A probe that measures further metrics while `batch` is played."""
        return Probe()

    def conditions(self) -> Mapping[str, Mapping[str, Any]]:
        """Changes of the worlds' config by the name of a group; the same worlds are played under each in turn.

        The default is one condition without a name and without changes.
        """
        return {"": {}}

    def conditions_of(self, policy: Policy) -> Mapping[str, Mapping[str, Any]]:
        """`conditions` under which a `policy` is played; the default is the same for all."""
        return self.conditions()

    def policy_under(self, policy: Policy, condition: str) -> Policy:
        """The form of a `policy` that is played under a `condition`; the default is the policy itself.

        Its actions are in the form of `batch.actions`.
        """
        return policy

    def act_maker(self, make_act: MakeAct, condition: str) -> MakeAct:
        """A function that makes the actions of all agents for a batch under a `condition`.

        The default is `make_act`: the policy alone. The actions are in the form of `batch.actions`.
        """
        return make_act

    def measured(self, batch: Batch) -> npt.NDArray[np.bool_] | None:
        """(R,) bool, the agents of `batch` that have rows; None: all."""
        return None

    # ---- the evaluation ----

    def check_env(self, env: Mapping[str, Any]) -> None:
        """Rejects a value of the worlds' config that the type of evaluator would silently replace.

        Args:
            env: the fields that a user has set.

        Raises:
            ConfigError: the type, or every evaluation, sets a field to another value.
        """
        for field, value in {**PLAYED, **self.env_overrides()}.items():
            if field in env and env[field] != value:
                raise ConfigError(f"env.{field} of eval.{self.name} is {value_text(env[field])}; an evaluator of type "
                                  f"{self.type!r} sets it to {value!r}")
        conditions = list(self.conditions().values())
        for field in sorted(set(conditions[0]).intersection(*conditions)):
            if field in env:
                values = ", ".join(dict.fromkeys(repr(changes[field]) for changes in conditions))
                raise ConfigError(f"env.{field} of eval.{self.name} is {value_text(env[field])}; an evaluator of type "
                                  f"{self.type!r} sets it to each of {values} in turn")

    def resolved(self) -> dict[str, Any]:
        """All settings in the types of JSON, with the worlds' config before the changes of `conditions`."""
        return {"name": self.name, "type": self.type, **self.config.to_dict(), "options": self.chosen,
                "env": self.env.to_dict()}

    def hashed(self) -> dict[str, Any]:
        """`resolved` without `SCHEDULE` and `RENDERING`: the settings in results, whose hash identifies the episodes.
        """
        return {name: value for name, value in self.resolved().items() if name not in (*SCHEDULE, *RENDERING)}

    @property
    def config_sha256(self) -> str:
        """The hash of `hashed`, as in results."""
        return sha256_of(self.hashed())

    def rollout(self, policy: Policy, shard: tuple[int, int] = (0, 1), threads: int = 0,
                checkpoint: Mapping[str, Any] | None = None, policy_name: str | None = None,
                progress: Callable[[int, int], None] | None = None, out: str | os.PathLike[str] | None = None,
                update: int | None = None) -> EvalResult:
        """Plays all episodes, or those of a shard, and returns their figures.

        Args:
            policy: see docs/evaluation.md.
            shard: (i, n): the i-th of n parts of the sources, from 0; `merge` joins their results.
            threads: as for `Batch`.
            checkpoint: path, sha256, update and steps of the policy, stored in the result; None: those of the policy,
                if it is a checkpoint. All four, with a whole number from 0 on for the last two.
            policy_name: stored in the result; None: the text passed as `policy`, or module and name of the function.
            progress: called after each batch with the number of sources read so far and the number of all; under
                several conditions a source counts once for each.
            out: the path for `EvalResult.save`, beside which films are written; needed if the setting `render` is set.
            update: of the training, for the names of films; None: that of the checkpoint, or 0.

        Raises:
            ConfigError: an argument is out of its range, or the policy does not fit the config.
            SceneError: no scene could be played; the error of the first one.
            ActionError: the policy did not return actions.
            MissingExtraError: there are films to be made, and a package of the extra `render` is not installed.
            OSError: the folder of the films cannot be made.
        """
        # The fields of the worlds' config that differ for the policy.
        began, found = time.perf_counter(), resolved(policy)
        _check_stored(checkpoint, policy_name)
        update = None if update is None else checked_int("update", update, 0, UPDATE_LIMIT)
        self._prepare_films(out)
        run, conditions = _Run(self, shard), self.conditions_of(found)
        own, given = config_for(found, self.env).to_dict(), self.env.to_dict()
        policy_env = {name: value for name, value in own.items() if value != given[name]}

        # Play all episodes under each condition in turn.
        for condition, changes in conditions.items():
            try:
                env = config_for(found, self.env.replace(**changes))
            except ConfigError as error:  # such as a delay of a vehicle model that has none
                run.refuse(condition, error)
                continue
            act = self.act_maker(policy_maker(self.policy_under(found, condition), self.config.seed), condition)
            if run.candidates is not None:
                act = run.candidates.logged(act)
            for part in played(run.episodes(condition), act, env, self.config.seed, threads, self._probes,
                               run.failed, self.worlds_at_once):
                run.add(part)
                if progress is not None:
                    progress(run.sources_read, len(run.places) * len(conditions))
        if run.errors and run.places and not run.played and not run.stalled:
            raise run.errors[0]

        # The result, and the films of the episodes with the lowest scores.
        if checkpoint is None and isinstance(found, TrainedPolicy):
            checkpoint = found.checkpoint
        result = run.result(policy_name or _name_of(policy), policy_env, checkpoint, time.perf_counter() - began,
                            len(conditions))
        if run.candidates is None or out is None:
            return result

        number = (checkpoint or {}).get("update", 0) if update is None else update
        return with_films(result, self.config, run.candidates, Path(out), number,
                          lambda group, world: self._opened(run, found, group, world))

    def open_episode(self, policy: Policy, world: int, group: str = "") -> tuple[Batch, Act]:
        """The batch and the actions with which the episode of a row is played again, byte for byte.

        The batch has this world alone and has not been reset; it stores the records of the episode. The actions are
        those of the policy and, in the group, of its traffic. This holds for policies whose actions for an agent
        depend on its world alone.

        Args:
            policy: as for `rollout`. world, group: of the row.

        Returns:
            The batch, and a function that takes it and returns actions in the form of `batch.actions`.

        Raises:
            ConfigError: no episode has this world, there is no such group, or the policy does not fit.
            SceneError: the scene cannot be read or played.
        """
        run, found = _Run(self, (0, 1)), resolved(policy)
        conditions = self.conditions_of(found)
        if not isinstance(group, str) or list(conditions) != [""] and group not in conditions:
            raise ConfigError(f"group is {value_text(group)}; it must be one of {', '.join(map(repr, conditions))}")
        batch = self._opened(run, found, group, checked_int("world", world, 0, WORLD_LIMIT))
        condition = group if group in conditions else ""
        try:
            make_act = policy_maker(self.policy_under(found, condition), self.config.seed)
            return batch, self.act_maker(make_act, condition)(batch)
        except BaseException:
            batch.close()
            raise

    def _opened(self, run: _Run, policy: str | Act | TrainedPolicy, group: str, world: int) -> Batch:
        """The batch of one world of a run, under the condition of a group."""
        conditions = self.conditions_of(policy)
        env = config_for(policy, self.env.replace(**conditions[group if group in conditions else ""]))
        return Batch(run.scene_of(world), config=env, seed=self.config.seed, threads=1, world_ids=[world],
                     trial_records=env.max_trials)

    def _prepare_films(self, out: str | os.PathLike[str] | None) -> None:
        """Makes the folder of the films and imports the extra, so that errors are raised before anything is played."""
        if not self.config.render:
            return
        if out is None:
            raise ConfigError(f"out is None; render of eval.{self.name} is True, so it must be the path of the result, "
                              "beside which films are written")
        films_folder(Path(checked_path(out, (".json",)))).mkdir(parents=True, exist_ok=True)
        check_views(self.config)

    def _probes(self, batch: Batch) -> Probe:
        """The probe of the type, joined with those that all types have."""
        scores = [DrivenScores(batch, self.measured)] if self.chosen["scores"] else []
        return Probes([self.probe(batch), Comfort(batch, self.measured), *scores])


class _Run:
    """The progress of one rollout: the sources of its shard, and the rows and counts of what was played so far.

    Args:
        shard: (i, n); checked here.
    """

    def __init__(self, evaluator: Evaluator, shard: tuple[int, int]) -> None:
        self.evaluator, self.shard = evaluator, shard
        self.sources = sample_of(evaluator.sources(), evaluator.name, evaluator.config.sample, evaluator.config.seed)
        self.places = part_of(len(self.sources), shard)
        self.sources_read = self.expected = self.played = self.stalled = self.agent_steps = self.refused = 0
        self.play_s = self.policy_s = 0.0
        self.failures: list[Failure] = []
        self.errors: list[Exception] = []
        """The exceptions of `failures`, in the same order."""
        self.candidates = Candidates(evaluator.config) if evaluator.config.render else None
        """The episodes that may be shown; None: none is shown."""
        self._rows: list[dict[str, Any]] = []
        self._scenes: set[int] = set()

    def episodes(self, condition: str) -> Iterator[Episode]:
        """The episodes of the shard under a condition.

        The world ids and scene keys of source p of n are p, p + n, p + 2 n, ..., whatever the other sources hold.
        """
        count, episodes = len(self.sources), self.evaluator.config.episodes
        for place in self.places:
            source = self.sources[place]
            self.sources_read += 1
            try:
                forms = self._forms(source)
            except DriveError as error:
                self.fail(source.name, error)
                self.expected += episodes
                continue
            for number, (index, variant) in enumerate(form for form in forms for _ in range(episodes)):
                self.expected += 1
                yield Episode(place + count * number, variant, place + count * index, condition or source.group,
                              source.name)

    def _forms(self, source: Source) -> list[tuple[int, Scene]]:
        """The forms in which the scenes of a source are played, each with the index of its scene."""
        return [(index, form) for index, scene in enumerate(list(source.read()))
                for form in self.evaluator.variants(scene)]

    def scene_of(self, world: int) -> Scene:
        """The form of a scene that is played in a world; reads its source.

        Raises:
            ConfigError: no episode has this world.
        """
        number, place = divmod(world, len(self.sources))
        forms, episodes = self._forms(self.sources[place]), self.evaluator.config.episodes
        if number >= len(forms) * episodes:
            raise ConfigError(f"world is {world}; it must be that of a row, and no episode has it")
        return forms[number // episodes][1]

    def _half_of(self, scene_key: int) -> int:
        """In which half of the scenes a scene is, 0 or 1; neighbours in the list are in different ones."""
        index, place = divmod(scene_key, len(self.sources))
        return (self.places.index(place) + index) % 2

    def failed(self, episode: Episode, error: Exception) -> None:
        """Adds an episode that the config does not allow."""
        self.fail(episode.scene.name, error)

    def fail(self, scene: str, error: Exception) -> None:
        """Adds a scene or condition that was not played."""
        self.errors.append(error)
        self.failures.append(Failure(scene, f"{type(error).__name__}: {error}"))

    def refuse(self, condition: str, error: Exception) -> None:
        """Adds a condition that the config does not allow; its episodes count as expected."""
        self.refused += 1
        self.fail(condition, error)

    def add(self, part: Played) -> None:
        """Adds the rows of a batch."""
        heads = [{"source": episode.source, "scene": episode.scene.name, "scene_key": episode.scene_key,
                  "group": episode.group, "world": episode.world} for episode in part.episodes]
        measured = self.evaluator.measured(part.batch)
        records = part.records if measured is None else part.records[measured[part.records["agent"]]]
        self._rows.append(rows_of(part.batch, records, heads, part.probe.columns()))
        if self.candidates is not None:
            self.candidates.add(part, self._rows[-1], self._half_of)
        self._scenes |= {episode.scene_key for episode, is_complete in zip(part.episodes, part.complete, strict=True)
                         if is_complete}
        self.played += int(part.complete.sum())
        self.stalled += int(part.stalled.sum())
        self.agent_steps += part.agent_steps
        self.play_s += part.play_s
        self.policy_s += part.policy_s

    def result(self, policy: str, policy_env: Mapping[str, Any], checkpoint: Mapping[str, Any] | None, total_s: float,
               conditions: int) -> EvalResult:
        """The figures of all rows. A refused condition counts with as many expected episodes as each of the others."""
        if others := conditions - self.refused:  # without others, the shard is empty: else the first error was raised
            self.expected += self.refused * (self.expected // others)
        evaluator, config, rows = self.evaluator, self.evaluator.hashed(), joined(self._rows)
        index, count = self.shard
        coverage = Coverage(expected=self.expected, played=self.played, unique_scenes=len(self._scenes),
                            stalled=self.stalled, complete=self.played == self.expected and count == 1)
        return EvalResult(
            evaluator=evaluator.name, type=evaluator.type, policy=policy, checkpoint=checkpoint, config=config,
            policy_env=policy_env, config_sha256=sha256_of(config), seed=evaluator.config.seed,
            metrics=figures_of_rows(rows), groups=figures_of_groups(rows), coverage=coverage, rows=rows,
            failures=self.failures,
            seconds={"total": total_s, "play": self.play_s, "policy": self.policy_s, "render": 0.0},
            agent_steps=self.agent_steps, shards=(index,), shard_count=count)


def _check_stored(checkpoint: Mapping[str, Any] | None, policy_name: str | None) -> None:
    """Checks what a result stores of its policy: a saved result with something else could not be read again.

    Raises:
        ConfigError: it does not have the form of a result.
    """
    if policy_name is not None and not isinstance(policy_name, str):
        raise ConfigError(f"policy_name is {value_text(policy_name)}; it must be a text or None")
    if checkpoint is None:
        return
    if not isinstance(checkpoint, Mapping) or set(checkpoint) != {"path", "sha256", "update", "steps"}:
        raise ConfigError(f"checkpoint is {value_text(checkpoint)}; it must have path, sha256, update and steps, or be "
                          "None")
    for name in ("path", "sha256"):
        if not isinstance(checkpoint[name], str):
            raise ConfigError(f"{name} of checkpoint is {value_text(checkpoint[name])}; it must be a text")
    for name in ("update", "steps"):
        checked_int(f"{name} of checkpoint", checkpoint[name], 0, UPDATE_LIMIT)


def _name_of(policy: Policy) -> str:
    if isinstance(policy, (str, os.PathLike)):
        return os.fsdecode(policy)
    kind = policy if hasattr(policy, "__qualname__") else type(policy)
    return f"{kind.__module__}:{kind.__qualname__}"
