"""Are the records of finished trials complete, unique, and never lost without a warning?"""

import pickle
import threading

import numpy as np
import pytest

import drive_env
from drive_env import Batch, ConfigError, DriveConfig, trial_metrics
from drive_env.reports import metric_names
from drive_env.trial_records import record_dtype

SCENES = [drive_env.generate_scene("town", seed=seed, agents=agents) for seed, agents in ((1, 3), (2, 5), (3, 4))]
CONFIG = DriveConfig(max_trials=2, trial_steps=12, observation={"partners": 0, "roads": 0},
                     dynamics={"min_speed_mps": -5.0})


def make(**options):
    return Batch(SCENES, **{"num_worlds": 4, "config": CONFIG, "seed": 3, "trial_records": 64, **options})


def rollout(batch, steps, after_step=lambda batch: None):
    rng = np.random.default_rng(1)
    for _ in range(steps):
        batch.step(rng.integers(0, 91, batch.num_agents))
        after_step(batch)


def test_every_agent_has_one_record_per_finished_trial_as_the_channels_showed_it():
    batch, due, decided = make(), [], {}

    def look(batch):
        for agent in np.flatnonzero(batch.outcome).tolist():
            decided[agent] = int(batch.outcome[agent])
        for world in range(batch.num_worlds):
            agents = range(world * batch.agents_per_world, (world + 1) * batch.agents_per_world)
            if batch.trial_ended[agents[0]]:
                due.extend((world, int(batch.scene_index[world]), int(batch.trial_index[agent]), agent,
                            decided.pop(agent)) for agent in agents if agent in decided)

    batch.reset()
    rollout(batch, 100, look)
    records = batch.trial_records()
    assert len(due) > 50
    assert sorted(records[["world", "scene", "trial", "agent", "outcome"]].tolist()) == sorted(due)
    episodes = {(record["world"], record["episode"], record["trial"], record["agent"]) for record in records}
    assert len(episodes) == len(records)


def test_taking_records_clears_them_and_a_report_does_not():
    batch = make()
    batch.reset()
    rollout(batch, 50)
    reports = batch.metrics(by="world")
    records = batch.trial_records()
    assert reports == trial_metrics(records, by="world") and len(batch.trial_records()) == 0
    assert batch.metrics(by="world") == {}
    rollout(batch, 50)
    later = batch.trial_records()
    assert len(later) and later["episode"].max() > records["episode"].max()


def test_a_report_of_records_is_that_of_the_averages_where_each_agent_has_one_trial_of_an_index():
    # No event ends a trial, so all worlds end both trials of their first episode in the same steps.
    batch = make(config=CONFIG.replace(on_collision="ignore", on_offroad="ignore", on_goal="ignore"))
    batch.reset()
    rollout(batch, 2 * 12 + 1)
    report, averages = trial_metrics(batch.trial_records()), batch.metrics()
    assert report.keys() == averages.keys() and averages["trials"].n == 2 * int((~batch.removed).sum())
    for name, figure in report.items():
        assert figure.n == averages[name].n and figure.value == pytest.approx(averages[name].value, rel=1e-6), name


def test_groups_hold_the_populated_alone_and_together_all_records():
    batch = make(config=CONFIG.replace(scene_order="cycle"), num_worlds=2)
    batch.reset()
    rollout(batch, 20)  # each world plays one scene of three so far
    by_scene, by_world = batch.metrics(by="scene"), batch.metrics(by="world")
    assert set(by_scene) == {0, 1} and set(by_world) == {0, 1}
    total = trial_metrics(batch.trial_records())["trials"].n
    for groups in (by_scene, by_world):
        assert sum(report["trials"].n for report in groups.values()) == total


def test_an_agent_counts_once_however_many_trials_it_finished():
    batch = make(num_worlds=1)
    batch.reset()
    rollout(batch, 100)
    records = batch.trial_records()
    report = trial_metrics(records)
    due = []
    for agent in np.unique(records["agent"]):
        own = records[records["agent"] == agent]
        due.append(np.mean([own["distance_m"][own["trial"] == trial].mean(dtype=np.float64)
                            for trial in np.unique(own["trial"])]))
    assert report["distance_m"] == (pytest.approx(np.mean(due)), len(due))
    gains = []
    for agent in np.unique(records["agent"]):
        own = records[records["agent"] == agent]
        gains.append(own["score"][own["trial"] == 1].mean() - own["score"][own["trial"] == 0].mean())
    assert report["ada_delta_trial_1_minus_0"] == (pytest.approx(np.mean(gains)), len(gains))


def test_what_does_not_fit_is_counted_and_reported():
    batch = make(trial_records=1)
    batch.reset()
    rollout(batch, 60)
    lost = r"^\d+ trial records were lost: each world holds those of trial_records=1 "
    with pytest.warns(RuntimeWarning, match=lost):
        records = batch.trial_records()
    assert (records["episode"] == 0).all() and (records["trial"] == 0).all()  # the oldest are kept
    assert len(batch.trial_records()) == 0  # and the loss is reported once


def test_trials_with_an_age_and_trials_that_a_reset_cuts_have_no_record():
    batch = make(config=CONFIG.replace(on_collision="ignore", on_offroad="ignore", on_goal="ignore", max_trials=1))
    batch.reset(initial_ages=[11, 5, 0, 0])
    rollout(batch, 8)
    batch.reset()
    assert len(batch.trial_records()) == 0
    rollout(batch, 12)
    records = batch.trial_records()
    assert set(records["world"]) == {0, 1, 2, 3} and (records["trial_length"] == 12).all()


def test_copies_hold_the_same_records():
    batch = make()
    batch.reset()
    rollout(batch, 40)
    copy, other = pickle.loads(pickle.dumps(batch)), make()
    other.load_state_dict(batch.state_dict())
    expected = batch.trial_records()
    for held in (copy.trial_records(), other.trial_records()):
        assert held.tobytes() == expected.tobytes()


def test_records_change_no_byte_of_a_rollout():
    with_records, without = make(), make(trial_records=0)
    for batch in (with_records, without):
        batch.reset()
        rollout(batch, 60)
    for name, array in without._core.arrays.items():
        assert array.tobytes() == with_records._core.arrays[name].tobytes(), name
    assert with_records.metrics() == without.metrics()


def test_records_are_the_same_on_any_number_of_threads_and_taken_while_others_step():
    alone = make(threads=1)
    alone.reset()
    rollout(alone, 60)
    expected = np.sort(alone.trial_records(), order=("world", "episode", "trial", "agent"))

    batch, taken, over = make(threads=2), [], threading.Event()
    batch.reset()

    def take():
        while not over.is_set():
            try:
                taken.append(batch.trial_records())
            except drive_env.CallError:  # the other thread is in a step
                continue

    taker = threading.Thread(target=take)
    taker.start()
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = rng.integers(0, 91, batch.num_agents)
        while True:
            try:
                batch.step(actions)
                break
            except drive_env.CallError:  # the other thread takes records
                continue
    over.set()
    taker.join()
    taken.append(batch.trial_records())
    found = np.sort(np.concatenate(taken), order=("world", "episode", "trial", "agent"))
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("call, sentence", [
    (lambda: make(trial_records=0).trial_records(), "this batch holds no records; make it with trial_records=n"),
    (lambda: make(trial_records=0).metrics(by="scene"), "this batch holds no records; make it with trial_records=n"),
    (lambda: make(trial_records=-1), "trial_records is -1; it must be a whole number from 0 to 1000000"),
    (lambda: make().metrics(by="agent"), "by is 'agent'; it must be None, 'scene' or 'world'"),
    (lambda: make().metrics(by=np.array(["scene", "world"])), "; it must be None, 'scene' or 'world'"),
    (lambda: make().metrics(by=np.array("scene")), "; it must be None, 'scene' or 'world'"),
    (lambda: trial_metrics(make().trial_records()[None]), "an array of Batch.trial_records, of one dimension"),
    (lambda: trial_metrics(np.zeros((), record_dtype(metric_names(DriveConfig())))),
     "an array of Batch.trial_records, of one dimension"),
    (lambda: trial_metrics(np.zeros(3)), "it must be an array of Batch.trial_records, of one dimension")])
def test_what_cannot_be_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ConfigError) as refused:
        call()
    assert sentence in str(refused.value)
