"""Does each ablation take from a policy what it names, and nothing else?"""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from small import BUSY, TINY, log_of, make_policy

from baselines.adaptation.interventions import (
    Blanked,
    Exchanged,
    Recorded,
    TrialStarts,
    Wiped,
    WipedAndBlanked,
    ablations,
    by_trial,
    of_another_episode,
    of_another_scene,
    of_the_same_scene,
)
from baselines.evaluate import PolicyRunner
from baselines.rollout.batches import scenes_of
from drive_env import Batch
from drive_env.evaluation import first_episodes

CPU = torch.device("cpu")
DRIVE = BUSY.drive.replace(max_trials=3, scene_order="cycle")
LONG_MEMORY = replace(TINY, context=80)
SCENES = scenes_of(BUSY)
WORLDS = 6


def open_batch():
    """Each of three scenes in two worlds."""
    return Batch(SCENES, num_worlds=WORLDS, config=DRIVE, trial_records=3, threads=1)


def make_runner():
    with open_batch() as batch:
        return PolicyRunner(make_policy(batch, LONG_MEMORY, seed=3), CPU)


def played(runner):
    """(3, trials, worlds x agents): reward, length and distance of all trials of the first episodes."""
    with open_batch() as batch:
        records = first_episodes(batch, runner(batch))
        records = records[np.lexsort((records["agent"], records["trial"]))]
        assert len(records) == 3 * batch.num_agents
    return np.stack([records[name].reshape(3, -1) for name in ("reward", "trial_length", "distance_m")])


class Watched:
    """Another intervention, with the memory and observations that result from it at each step."""

    def __init__(self, intervention):
        self.intervention, self.seen = intervention, []

    def __call__(self, batch, memory, observations):
        changed = self.intervention(batch, memory, observations)
        self.seen.append((batch.trial_index.copy(), batch.first.copy(), memory.cache.position.clone(),
                          observations.clone(), changed.clone()))
        return changed


def watched(make, runner):
    """What a policy got in each step that it played under an intervention, which `make` makes for a batch."""
    with open_batch() as batch:
        watch = Watched(make(batch))
        features = {name: feature.offset for name, feature in batch.observation_layout().items()}
        first_episodes(batch, replace(runner, intervene=lambda _: watch)(batch))
    return watch.seen, features


def steps_with_starts(seen):
    """Each step's entry, with the agents whose later trial starts there."""
    before = np.zeros_like(seen[0][0])
    for entry in seen:
        yield entry, (entry[0] > 0) & (entry[0] != before)
        before = entry[0]


def test_without_memory_and_trial_features_every_trial_is_the_first_again():
    """A restart restores the world bit for bit, so a deterministic policy that gets the same acts the same."""
    runner = make_runner()
    figures = played(replace(runner, intervene=lambda batch: WipedAndBlanked(batch, CPU)))
    assert (figures == figures[:, :1]).all()
    for part in (Wiped, Blanked):  # either alone lets the policy know which trial it is
        figures = played(replace(runner, intervene=lambda batch, part=part: part(batch, CPU)))
        assert not (figures == figures[:, :1]).all()


def test_no_ablation_changes_the_first_trial():
    """All but `redrawn` change later ones: in these scenes nothing is drawn, so a donor of the same scene is a twin."""
    found = {name: played(runner) for name, runner in ablations(make_runner()).items()}
    assert list(found) == ["full", "wiped", "blanked", "wiped and blanked", "shuffled", "redrawn"]
    for name, figures in found.items():
        assert (figures[:, 0] == found["full"][:, 0]).all(), name
        assert (figures[:, 1:] != found["full"][:, 1:]).any() == (name not in ("full", "redrawn")), name


def test_a_wiped_memory_is_empty_where_a_trial_starts_and_only_there():
    seen, _ = watched(lambda batch: Wiped(batch, CPU), make_runner())
    emptied = 0
    for (_, first, position, observations, changed), starts in steps_with_starts(seen):
        assert not position[torch.from_numpy(starts | first)].any()
        assert torch.equal(observations, changed)
        emptied += starts.sum()
    assert emptied >= 2 * WORLDS * 6
    assert max(position.max() for _, _, position, _, _ in seen) >= 24 - 1


def test_blanked_trial_features_are_those_of_a_first_trial_and_the_rest_is_as_observed():
    seen, features = watched(lambda batch: Blanked(batch, CPU), make_runner())
    own = [offset for name, offset in features.items() if name.startswith("trial/")]
    others = torch.ones(seen[0][3].shape[1], dtype=torch.bool)
    others[own] = False
    value = lambda changed, name: changed[:, features[f"trial/{name}"]]
    for (trial, _, _, observations, changed), starts in steps_with_starts(seen):
        later, starts = torch.from_numpy(trial > 0), torch.from_numpy(starts)
        assert torch.equal(observations[:, others], changed[:, others])
        assert torch.equal(observations[~later], changed[~later])
        assert (value(changed, "outcome_none")[later] == 1).all()
        for name in ("index", "steps_share", "outcome_goal", "outcome_collision", "outcome_offroad", "outcome_timeout"):
            assert not value(changed, name)[later].any()
        assert not value(changed, "reward")[starts].any()
        assert torch.equal(value(changed, "reward")[~starts], value(observations, "reward")[~starts])
    assert any(value(observations, "reward")[torch.from_numpy(starts)].any()
               for (_, _, _, observations, _), starts in steps_with_starts(seen)), "there was one to hide"


def test_an_agent_that_is_its_own_donor_plays_as_without_intervention():
    runner = make_runner()
    itself = lambda batch: torch.arange(batch.num_agents)
    own = replace(runner, intervene=lambda batch: Exchanged(batch, runner, itself))
    assert (played(own) == played(runner)).all()


def test_the_past_of_a_donor_is_that_of_its_own_play():
    """At the start of each trial: how long its memory is, and its trial features."""
    runner = make_runner()
    seen, features = watched(lambda batch: Recorded(batch, CPU), runner)
    own = [offset for name, offset in features.items() if name.startswith("trial/")]
    pasts, episodes = {}, np.zeros(WORLDS * 6, int)
    for (trial, first, position, observations, _), starts in steps_with_starts(seen):
        episodes += first
        for agent in np.flatnonzero(starts & (episodes == 1)):
            pasts[agent, trial[agent]] = position[agent], observations[agent, own]
    assert len(pasts) == 2 * WORLDS * 6
    assert len({int(position) for position, _ in pasts.values()}) > 4, "donors differ"

    seen, _ = watched(lambda batch: Exchanged(batch, runner, of_another_scene), runner)
    checked = 0
    for (trial, _, position, _, changed), starts in steps_with_starts(seen):
        for agent in np.flatnonzero(starts):
            wanted = pasts[(agent + 6) % 36, trial[agent]]
            assert position[agent] == wanted[0] and torch.equal(changed[agent, own], wanted[1])
            checked += 1
    assert checked >= 2 * WORLDS * 6


def test_pasts_are_those_of_the_first_episode_though_a_world_plays_on():
    """A sampling policy, and a world whose trials have one step beside one whose trials have twenty."""
    scenes = [log_of(scene, frames) for scene, frames in zip(SCENES, (2, 21))]
    runner, seen = replace(make_runner(), deterministic=False), {}

    def watch(batch, memory, observations):
        for trial, agents in by_trial(batch, starts(batch)):
            for agent in agents.tolist():
                seen.setdefault((agent, trial), []).append(memory.previous_actions[agent].clone())
        return recorded(batch, memory, observations)

    with Batch(scenes, num_worlds=2, config=DRIVE.replace(trial_steps=None, on_collision="ignore",
                                                          on_offroad="ignore"), threads=1, trial_records=3) as batch:
        recorded, starts = Recorded(batch, CPU), TrialStarts(batch)
        torch.manual_seed(0)
        first_episodes(batch, replace(runner, intervene=lambda _: watch)(batch))
    assert max(map(len, seen.values())) == 2, "a world played a second episode, in the other scene"
    for (agent, trial), actions in seen.items():
        assert torch.equal(recorded.pasts[trial - 1].memory.previous_actions[agent], actions[0])


def test_donors_of_another_episode_are_of_the_same_scene_in_any_order_of_worlds():
    """An evaluator has the episodes of a scene one after the other, and the batch may list the scene once for each."""
    first, second = SCENES[:2]
    listed = [first, first, second, second, second, SCENES[2]]
    for shift, wanted in ((0, [1, 0, 3, 4, 2, 5]), (2, [1, 2, 0, 3, 5, 4])):
        with Batch(listed, num_worlds=6, config=DRIVE, threads=1, world_ids=np.arange(6) + shift) as batch:
            found = of_another_episode(batch).numpy()  # a policy is made for a batch before its reset
            donors = batch.world_of_agent[found].reshape(6, -1)
            assert donors[:, 0].tolist() == wanted and (donors == donors[:, :1]).all()
            assert (found.reshape(6, -1) % batch.agents_per_world == np.arange(batch.agents_per_world)).all()
            batch.reset()
            scenes = batch.scene_index[batch.world_of_agent]
            assert all(batch.scenes[one] is batch.scenes[other] for one, other in zip(scenes, scenes[found]))


def test_donors_are_of_another_scene_or_of_another_world_of_the_same():
    with open_batch() as batch:
        batch.reset()
        world = lambda agents: batch.world_of_agent[agents]
        everyone = np.arange(batch.num_agents)
        for donors, same in ((of_another_scene(batch).numpy(), False), (of_the_same_scene(batch).numpy(), True)):
            assert sorted(donors) == everyone.tolist()
            assert (world(donors) != world(everyone)).all()
            scenes = batch.scene_index[world(donors)], batch.scene_index[world(everyone)]
            assert (scenes[0] == scenes[1]).all() if same else (scenes[0] != scenes[1]).all()
