"""Does every form of an argument `policy` act as it says, and is what forms no policy refused in one sentence?"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from drive_env import Batch, CallError, ConfigError, DriveConfig, generate_scene, load_policy
from drive_env.behaviours import behaviour_scenes
from drive_env.drivers import LaneDriver, RandomDriver
from drive_env.evaluation import first_episodes
from drive_env.policies import POLICIES, TrainedPolicy, config_for, policy_maker, resolved
from drive_env.replay import record
from drive_env.tasks import hidden_exit

IGNORE = {"on_goal": "ignore", "on_collision": "ignore", "on_offroad": "ignore"}


def town(**choices):
    return Batch(generate_scene("town", seed=3, agents=6), config=DriveConfig(**choices))


@pytest.mark.parametrize("action_type", ["continuous", "discrete", "multi_discrete"])
def test_a_constant_policy_keeps_speed_and_heading(action_type):
    with town(action_type=action_type, **IGNORE) as batch:
        act = policy_maker("constant", 0)(batch)
        batch.reset()
        start = batch.vehicles()
        for _ in range(20):
            batch.step(act(batch))
        end = batch.vehicles()
    driven_m = 20 * batch.roles[0].dt_s * start["speed_mps"]
    assert (start["speed_mps"] == end["speed_mps"]).all() and (start["heading_rad"] == end["heading_rad"]).all()
    assert np.hypot(end["x_m"] - start["x_m"], end["y_m"] - start["y_m"]) == pytest.approx(driven_m, abs=1e-3)


def test_a_constant_policy_refuses_actions_that_set_no_acceleration():
    with town(dynamics="jerk", action_type="continuous") as batch, pytest.raises(ConfigError, match="'jerk', whose"):
        policy_maker("constant", 0)(batch)


def sampled(world_ids, steps=3, seed=5):
    """(steps, worlds, agents): the actions of the random policy."""
    scenes = [generate_scene("town", seed=number, agents=3 + number) for number in range(4)]
    with Batch(scenes, len(world_ids), DriveConfig(scene_order="cycle"), seed=0, world_ids=world_ids) as batch:
        act = policy_maker("random", seed)(batch)
        batch.reset()
        drawn = [act(batch).reshape(len(world_ids), -1).tolist() for _ in range(steps)]
        counts = [batch.roles[scene].num_agents for scene in batch.scene_index]
        return [[actions[:count] for actions, count in zip(step, counts, strict=True)] for step in drawn]


def test_the_random_actions_of_a_world_do_not_depend_on_the_others():
    together, apart = sampled([0, 1, 2, 3]), [sampled([world]) for world in range(4)]
    assert together == [[apart[world][step][0] for world in range(4)] for step in range(3)]
    assert sampled([2]) != sampled([6]) and sampled([2]) != sampled([2], seed=6)


def test_one_world_of_the_random_policy_is_the_random_driver():
    with town() as batch:
        act, driver = policy_maker("random", 7)(batch), RandomDriver(batch, 7)
        batch.reset()
        assert all((act(batch) == driver.act_all()).all() for _ in range(3))


@pytest.fixture(scope="module")
def logged():
    return behaviour_scenes("lane_change", (0, 1))


@pytest.mark.parametrize("is_exact, error_m", [(False, 0.2), (True, 1e-3)])
def test_the_replay_policy_follows_the_logs(logged, is_exact, error_m):
    """With the config of its evaluations exactly, with that of the user as near as its actions allow."""
    config = DriveConfig(scene_order="cycle", **IGNORE)
    with Batch(logged, 2, config_for("replay", config) if is_exact else config) as batch:
        act = policy_maker("replay", 0)(batch)
        batch.reset()
        driven_m, errors_m = 0.0, []
        for step in range(1, min(roles.trial_steps for roles in batch.roles)):
            batch.step(act(batch))
            for world, scene in enumerate(batch.scene_index):
                roles, now = batch.roles[scene], batch.vehicles(world)
                agents = roles.objects[: roles.num_agents]
                off_m = np.hypot(now["x_m"][: len(agents)] - roles.frames.x_m[step, agents],
                                 now["y_m"][: len(agents)] - roles.frames.y_m[step, agents])
                errors_m += off_m[roles.frames.valid[step, agents]].tolist()
                driven_m += now["speed_mps"][: len(agents)].sum() * roles.dt_s
    assert driven_m > 100 and np.median(errors_m) < error_m


def test_the_replay_policy_needs_logs():
    with town() as batch, pytest.raises(ConfigError, match="scene town/3 has no logs of agents to replay"):
        policy_maker("replay", 0)(batch)


def test_the_idm_policy_stays_behind_slow_vehicles():
    scene = generate_scene("two_way", must_overtake=True)
    with Batch(scene, config=DriveConfig(action_type="continuous")) as batch:
        acts, batch_actions = {name: policy_maker(name, 0)(batch) for name in ("idm", "lane")}, []
        driver = LaneDriver(batch, overtakes=False)
        batch.reset()
        for _ in range(200):
            batch_actions.append([acts["idm"](batch), acts["lane"](batch)])
            assert (batch_actions[-1][0] == driver.act_all()).all()
            batch.step(batch_actions[-1][1])
    assert any((idm != lane).any() for idm, lane in batch_actions)


class Watched:
    """Coasts; the steps at which it was reset, with the agents."""

    def __init__(self):
        self.calls, self.resets = 0, []

    def reset(self, mask):
        self.resets.append((self.calls, mask.tolist()))

    def __call__(self, batch):
        self.calls += 1
        return np.full(batch.num_agents, 45)


def test_a_policy_is_reset_where_an_episode_begins_and_at_no_trial_boundary():
    """Two worlds of one and of two agents; trials of 3 and 5 steps, each with a restart: episodes of 8 and 12 calls."""
    scenes = [generate_scene("intersection", seed=seed, agents=2) for seed in (1, 2)]
    config = DriveConfig(max_trials=2, trial_steps=3, scene_order="cycle", **IGNORE)
    with Batch(scenes, 2, config) as batch:
        watched = Watched()
        act = policy_maker(watched, 0)(batch)
        batch.reset()
        for step in range(20):
            batch.step(act(batch))
            if step == 9:
                batch.reset(worlds=np.array([False, True]))
    assert watched.resets == [(0, [True] * 4), (8, [True] * 4), (10, [False, False, True, True]),
                              (16, [True, True, False, False]), (18, [False, False, True, True])]


def test_a_policy_makes_itself_for_a_batch_if_it_can():
    class Made:
        def for_batch(self, batch):
            return lambda batch: ("made for", batch.num_worlds)

    with town() as batch:
        assert policy_maker(Made(), 0)(batch)(batch) == ("made for", 1)


def test_a_policy_that_was_made_for_a_batch_is_reset_where_an_episode_begins():
    """Also that of a training, which is bound to its batch."""
    for wrap in (lambda make: SimpleNamespace(for_batch=make), lambda make: TrainedPolicy(make, {}, DriveConfig())):
        watched = Watched()
        with town() as batch:
            act = policy_maker(wrap(lambda batch, watched=watched: watched))(batch)
            batch.reset()
            batch.step(act(batch))
            batch.step(act(batch))
        assert [step for step, _ in watched.resets] == [0]


def test_what_is_made_for_a_batch_must_be_a_function():
    with town() as batch, pytest.raises(ConfigError, match="^for_batch of the policy returned None; it must return a"):
        policy_maker(SimpleNamespace(for_batch=lambda batch: None))(batch)


@pytest.mark.parametrize("policy", ["lane", "random", "constant", "idm"])
def test_a_policy_with_a_name_refuses_a_batch_that_it_was_not_made_for(policy):
    check_refused(policy_maker(policy, 0))


def test_a_trained_policy_refuses_a_batch_that_it_was_not_made_for():
    """Also under an ablation: in another batch, the memory of its agents would be that of others."""
    coasting = lambda batch: lambda given: np.full(given.num_agents, 45)
    policy = TrainedPolicy(coasting, {}, DriveConfig(), ablated={"wiped": coasting})
    for make_act in (policy.for_batch, policy.ablated["wiped"], policy_maker(policy)):
        check_refused(make_act)


def check_refused(make_act):
    with town() as batch, town() as other:
        act = make_act(batch)
        for one in (batch, other):
            one.reset()
        act(batch)
        with pytest.raises(CallError, match="called with another batch than the one that it was made for; each batch"):
            act(other)
        other.step(make_act(other)(other))


MODULE = """
import numpy as np

def act(batch):
    return np.full(batch.num_agents, 45)

class Driver:
    def reset(self, mask):
        self.agents = len(mask)
    def __call__(self, batch):
        return np.full(self.agents, 45)

class Nested:
    inner = act

class Maker:
    def for_batch(self, batch):
        return act

maker = Maker()

number = 3

class Broken:
    def __init__(self, needed):
        pass
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "own_policies.py").write_text(MODULE)
    (tmp_path / "own_broken.py").write_text("import package_that_is_missing")
    (tmp_path / "own_script.py").write_text("import sys\nsys.exit()")
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("own_policies", None)


@pytest.mark.parametrize("path", ["own_policies:act", "own_policies:Driver", "own_policies:Nested.inner",
                                  "own_policies:Maker", "own_policies:maker"])
def test_a_function_of_a_module_is_found_by_its_path(module, path):
    scene, config, before = generate_scene("intersection", agents=2), DriveConfig(trial_steps=5), list(sys.path)
    assert record(scene, path, config).html() == record(scene, "constant", config).html()
    assert sys.path == before


@pytest.mark.parametrize("text", ["import os; os.chdir('/')", "import sys; sys.path.pop(0)"])
def test_a_module_may_change_the_folder_and_the_path_of_imports(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "own_changing.py").write_text(f"{text}\ndef act(batch): return batch.actions * 0\n")
    before = list(sys.path)
    try:
        assert resolved("own_changing:act").__name__ == "act"
    finally:
        sys.modules.pop("own_changing", None)
    assert sys.path == before


@pytest.mark.parametrize("policy, sentence", [
    ("own_policies:fly", "policy is 'own_policies:fly', which cannot be imported: AttributeError: module"),
    ("own_nowhere:act", "policy is 'own_nowhere:act', which cannot be imported: ModuleNotFoundError"),
    ("own_broken:act", "which cannot be imported: ModuleNotFoundError: No module named 'package_that_is_missing'"),
    ("own_script:act", "policy is 'own_script:act', which cannot be imported: SystemExit"),
    ("own_policies:Broken", "which cannot be imported: TypeError"),
    ("own_policies:number", "policy is 'own_policies:number', which is 3; it must be a function or an object with "
     "a method for_batch"),
    (":act", "policy is ':act'; it must name a module and a function in it"),
    ("own_policies:", "policy is 'own_policies:'; it must name a module and a function in it"),
    ("fast", "policy is 'fast'; it must be a function or one of "
             f"{', '.join(map(repr, (*POLICIES, 'generalist', 'hidden_exit')))}, an object with a method for_batch, "
             "or"),
    (SimpleNamespace(for_batch=3), "it must be a function or one of"),
    (SimpleNamespace, "policy is the class SimpleNamespace; it must be an instance, as SimpleNamespace()"),
    (None, "policy is None; it must be a function or one of"),
])
def test_what_is_no_policy_is_one_sentence(module, policy, sentence):
    with pytest.raises(ConfigError) as raised:
        resolved(policy)
    assert sentence in str(raised.value) and "\n" not in str(raised.value)


def test_the_packaged_policy_is_meant_by_its_name_and_not_by_a_path(tmp_path, monkeypatch):
    by_name = load_policy("generalist")
    assert resolved("generalist").checkpoint == by_name.checkpoint and by_name.checkpoint["steps"] > 230_000_000
    assert by_name.checkpoint["path"] == "generalist/update-00000650"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "generalist").mkdir()
    assert load_policy("generalist").checkpoint == by_name.checkpoint
    with pytest.raises(ConfigError):
        load_policy(tmp_path / "generalist")


@pytest.fixture(scope="module")
def hidden_exit_policy():
    return load_policy("hidden_exit")


@pytest.mark.parametrize("name, least", [("roundabout", 0.8), ("merge", 0.8), ("oval", 0.9)])
def test_the_packaged_policy_drives_in_scenes_that_its_training_did_not_have(name, least):
    policy = load_policy("generalist")
    scenes = [generate_scene(name, 1_000_000)]
    with Batch(scenes, num_worlds=1, config=policy.config.replace(scene_order="cycle")) as batch:
        act = policy.for_batch(batch)
        batch.reset()
        while not batch.trial_ended.any():
            batch.step(act(batch))
        assert batch.metrics()["goal"].value >= least


def test_the_policy_of_the_hidden_exit_needs_the_config_of_its_task_alone(hidden_exit_policy):
    task = hidden_exit()
    assert hidden_exit_policy.config == task.config and hidden_exit_policy.checkpoint["steps"] > 10_000_000
    assert hidden_exit_policy.scenes["scenes"] == ["exits"] and set(hidden_exit_policy.ablated) == {"wiped"}


def test_the_policy_of_the_hidden_exit_needs_each_trial_of_an_episode(hidden_exit_policy):
    """About 1/3, 2/3 and 1 on scenes outside its training: 0.18 are 3.5 standard errors of 84 episodes."""
    task = hidden_exit(seeds=range(300, 328))
    with Batch(task.scenes, num_worlds=84, config=task.config.replace(scene_order="cycle"), trial_records=3) as batch:
        records = first_episodes(batch, hidden_exit_policy.for_batch(batch))
    found = [records["score"][records["trial"] == trial].mean() for trial in range(3)]
    assert found[:2] == pytest.approx([1 / 3, 2 / 3], abs=0.18) and found[2] > 0.9
    assert np.bincount(records["trial"]).tolist() == [84] * 3


@pytest.mark.parametrize("scenes", ["roundabout", "example_log", "gates"])
def test_the_policy_of_the_hidden_exit_refuses_scenes_without_exits(hidden_exit_policy, scenes):
    with Batch(scenes, num_worlds=1, config=hidden_exit_policy.config) as batch:
        with pytest.raises(ConfigError, match=f"^scene {scenes}.* has no candidate goals; the policy hidden_exit does "
                           "not observe its goal and tries the candidates, as in the scenes of its training, 'exits'$"):
            hidden_exit_policy.for_batch(batch)
