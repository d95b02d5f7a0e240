"""Does a replay page hold the arrays of the batch?"""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from bare_scene import THROTTLE
from replay_reader import Page
from scripted_scenes import BRAKE_ACTION, COAST_ACTION, IGNORE_ALL, driver, log_replay, stage

from drive_env import REWARD_TERMS, Batch, CallError, ConfigError, DriveConfig, RewardConfig, generate_scene
from drive_env.drivers import LaneDriver, RandomDriver
from drive_env.replay import Recorder
from drive_env.replay.page import SCRIPTS, resources
from drive_env.replay.trials import FLAGS
from drive_env.scenes import GoalLists
from drive_env.tasks import hidden_closure


class OddAgentsAtRandom(LaneDriver):
    """Even agents are rule-based, odd ones random: goals, collisions and off-road events."""

    def __init__(self, batch, seed=0):
        super().__init__(batch)
        self._random = RandomDriver(batch, seed)

    def act_all(self):
        by_rule, random_policy = super().act_all(), self._random.act_all()
        return np.where(np.arange(len(by_rule)) % 2 == 0, by_rule, random_policy)


def rollout(batch, recorder, driver, trials, each_step=lambda: None):
    """Steps until `trials` trials have ended, and captures after every call."""
    batch.reset()
    recorder.capture()
    each_step()
    while trials:
        batch.step(driver.act_all())
        recorder.capture()
        each_step()
        trials -= bool(batch.trial_ended[recorder.world * batch.agents_per_world])


class FullThrottle:
    """Accelerates straight ahead, across stop lines at red."""

    def __init__(self, batch):
        self.batch = batch

    def act_all(self):
        return np.full_like(self.batch.actions, THROTTLE)


@pytest.fixture(scope="module")
def played():
    """Two episodes of two short trials: the page, the recording, and the arrays of the batch after every call."""
    scene = generate_scene("intersection", seed=2, agents=6)
    config = DriveConfig(max_trials=2, trial_steps=30, reward=RewardConfig(collision=-0.37, offroad=-0.21))
    snapshots = []
    with Batch(scene, config=config, seed=4) as batch:
        recorder = Recorder(batch)

        def store():
            names = (*FLAGS, "outcome", "rewards", "observations", "trial_index")
            snapshots.append(batch.vehicles() | {name: getattr(batch, name).copy() for name in names})

        rollout(batch, recorder, RandomDriver(batch, 1), 4, store)
        recording = recorder.recording()
    return Page(recording.html()), recording, snapshots


def frames_of(page, snapshots):
    """Each trial's number with the arrays of its frames, which are consecutive."""
    at = 0
    for number, trial in enumerate(page.header["trials"]):
        yield number, snapshots[at : at + trial["frames"]]
        at += trial["frames"]
    assert at == len(snapshots)


def test_every_call_is_a_frame_of_the_trial_it_belongs_to(played):
    page, recording, snapshots = played
    trials = [(trial["episode"], trial["index"]) for trial in page.header["trials"]]
    assert trials == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for number, frames in frames_of(page, snapshots):
        assert {int(frame["trial_index"][0]) for frame in frames} == {page.header["trials"][number]["index"]}
        assert [bool(frame["trial_ended"].any()) for frame in frames] == [False] * (len(frames) - 1) + [True]
        assert recording.trials[number].complete


def test_positions_are_within_a_centimetre_and_headings_within_a_minute_of_arc(played):
    page, _, snapshots = played
    for number, frames in frames_of(page, snapshots):
        for name in ("x_m", "y_m", "speed_mps"):
            gap = page.frames(f"trial{number}/{name}") - [frame[name] for frame in frames]
            assert np.abs(gap).max() <= 0.00501
        turn_rad = page.frames(f"trial{number}/heading_rad") - [frame["heading_rad"] for frame in frames]
        assert np.degrees(np.abs(np.angle(np.exp(1j * turn_rad)))).max() < 1 / 60


def test_channels_are_exact(played):
    page, _, snapshots = played
    assert page.header["flags"] == list(FLAGS)
    for number, frames in frames_of(page, snapshots):
        bits = page.frames(f"trial{number}/flags").astype(int)
        for place, name in enumerate(FLAGS):
            assert ((bits >> place & 1) == [frame[name] for frame in frames]).all(), name
        for name in ("outcome", "rewards"):
            assert (page.frames(f"trial{number}/{name}") == [frame[name] for frame in frames]).all(), name
        assert (page.frames(f"trial{number}/present") == [frame["present"] for frame in frames]).all()


def test_ego_and_trial_features_are_within_their_quantum(played):
    page, recording, snapshots = played
    own = [recording.layout[feature["name"]].offset for feature in page.header["own"]]
    assert len(own) == sum(name.startswith(("ego/", "trial/")) for name in recording.layout)
    for number, frames in frames_of(page, snapshots):
        stored = page.frames(f"trial{number}/own").reshape(len(frames), -1, len(own))
        assert np.abs(stored - [frame["observations"][:, own] for frame in frames]).max() <= 2.0**-16 + 1e-7


def test_the_map_and_the_goals_are_exact(played):
    page, recording, _ = played
    roles = recording.roles[0]
    roads, objects = roles.scene.roads, roles.scene.objects
    for name in ("x_m", "y_m", "start", "kind", "width_m"):
        assert (page.array(f"scene0/road_{name}")[0] == getattr(roads, name)).all(), name
    for number, trial in enumerate(recording.trials):
        for axis, name in enumerate(("goal_x_m", "goal_y_m")):
            assert (page.array(f"trial{number}/{name}") == trial.goal_m[:, :, axis].T).all()
        assert (trial.goal_m == objects.goal_m[roles.objects[: roles.num_agents]]).all()


def test_a_recording_has_the_goal_of_every_frame():
    """A car that may swerve reaches its goal at 10 m and then has one 30 m further."""
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(10.0, 0.0))], [("lane", [(0.0, 0.0), (90.0, 0.0)])])
    config = DriveConfig(trial_steps=20, max_trials=2, on_goal="next", goal_spacing_m=30.0, goal_radius_m=8.0)
    goals = []
    with Batch(scene, config=config) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, RandomDriver(batch, 1), 2, lambda: goals.append(batch.trial_state()["goal_m"]))
        recording = recorder.recording()
    page = Page(recording.html())
    stored = np.concatenate([trial.goal_m for trial in recording.trials])
    assert (stored == goals).all() and stored[[0, 20, 21], 0, 0].tolist() == [10.0, 40.0, 10.0]
    for axis, name in enumerate(("goal_x_m", "goal_y_m")):
        shown = np.concatenate([page.frames(f"trial{number}/{name}") for number in range(2)])
        assert (shown == stored[..., axis]).all()


def test_a_recording_has_the_heading_of_every_goal():
    """On a lane against the x axis, on one along the y axis, and on none, which the page has as 0."""
    scene = stage([driver(0.0, 10.0 * i, goal_m=(40.0, 20.0 * i)) for i in range(3)],
                  [("lane", [(80.0, 0.0), (0.0, 0.0)]), ("lane", [(40.0, 14.0), (40.0, 26.0)])])
    config = DriveConfig(trial_steps=3, goal_heading_tolerance_rad=0.2, observation={"goals": 1})
    with Batch(scene, config=config) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, SimpleNamespace(act_all=lambda: [COAST_ACTION] * 3), 1)
        recording = recorder.recording()
    wanted = np.array([np.pi, np.pi / 2, np.nan])
    assert recording.trials[0].goal_heading_rad == pytest.approx(np.tile(wanted, (4, 1)), nan_ok=True)
    shown = Page(recording.html()).frames("trial0/goal_heading_rad")
    assert shown == pytest.approx(np.tile([2 * np.pi, 1.5 * np.pi, 0.0], (4, 1)), abs=1e-4)


def test_a_recording_has_the_goals_of_a_list_frame_by_frame():
    """A car at 10 m/s comes within 2 m of its goals at 6.9 and 13.9 m in steps 5 and 12; each has its heading."""
    scene = stage([driver(0.0, speed_mps=10.0, goal_m=(6.9, 0.0))], [("lane", [(0.0, 6.0), (90.0, 6.0)])])
    lists = GoalLists(np.zeros(2, np.int32), np.array([[13.9, 0.0], [60.0, 9.0]], np.float32),
                      goal_heading_rad=np.array([-0.1, 0.15], np.float32))
    config = DriveConfig(trial_steps=14, goal_heading_tolerance_rad=0.2, on_goal="next", observation={"goals": 1})
    with Batch(replace(scene, goal_lists=lists), config=config) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, SimpleNamespace(act_all=lambda: [COAST_ACTION]), 1)
        recording = recorder.recording()
    trial = recording.trials[0]
    assert trial.goal_m[:, 0, 0] == pytest.approx([6.9] * 5 + [13.9] * 7 + [60.0] * 3)
    assert trial.goal_heading_rad[:, 0] == pytest.approx([np.nan] * 5 + [-0.1] * 7 + [0.15] * 3, nan_ok=True)
    shown = Page(recording.html()).frames("trial0/goal_x_m")[:, 0]
    assert shown == pytest.approx([6.9] * 5 + [13.9] * 7 + [60.0] * 3, abs=0.01)


def test_a_recording_counts_the_respawns_of_every_frame():
    """A car at 10 m/s comes within 2 m of its goal at 6.9 m in step 5, and is at its start at 0 m then."""
    scene, counts = stage([driver(0.0, speed_mps=10.0, goal_m=(6.9, 0.0))]), []
    with Batch(scene, config=DriveConfig(trial_steps=12, **IGNORE_ALL | {"on_goal": "respawn"})) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, SimpleNamespace(act_all=lambda: [COAST_ACTION]), 1, lambda: counts.append(
            batch.trial_state()["respawns"]))
        recording = recorder.recording()
    trial, stored = recording.trials[0], Page(recording.html()).frames("trial0/respawns")
    assert (stored == counts).all() and (trial.respawns == counts).all()
    assert stored[:, 0].tolist() == [0] * 5 + [1] * 5 + [2] * 3
    assert trial.x_m[:, 0] == pytest.approx([*range(5), *range(5), *range(3)], abs=1e-4)
    assert trial.events[[5, 10], 0, 0].all() and trial.events[..., 0].sum() == 2


def test_stop_lines_and_what_lights_show_are_recorded():
    scene = generate_scene("intersection", seed=3, agents=2, lights=True)
    config, shown = DriveConfig(traffic_controls=True, trial_steps=60, max_trials=2, **IGNORE_ALL), []
    with Batch(scene, config=config) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, RandomDriver(batch, 0), 2, lambda: shown.append(batch.light_states()))
        page = Page(recorder.recording().html())
    controls = scene.traffic_controls
    assert (page.array("scene0/control_kind")[0] == controls.kind).all()
    assert np.abs(page.frames("scene0/control_line_m") - controls.line_m).max() <= 0.00501
    stored = np.concatenate([page.frames(f"trial{number}/light_state") for number in range(2)])
    assert (stored == shown).all() and len(np.unique(stored)) == 3


def test_recordings_mark_vehicles_that_follow_their_logs():
    """A rule-based vehicle follows its log from the first step on, until it is near the agent ahead."""
    log = log_replay([(float(x_m), 0.0, 0.0, 10.0) for x_m in range(-40, 20)], expert=False, goal_m=(-40.0, 0.0))
    scene = stage([driver(0.0, 0.0), log])
    config = DriveConfig(others="idm", idm_handback_m=1.0, agents_per_world=1, trial_steps=50, **IGNORE_ALL)
    with Batch(scene, config=config) as batch:
        batch.reset()
        recorder = Recorder(batch)
        recorder.capture()
        for _ in range(50):
            batch.step(np.array([BRAKE_ACTION]))
            recorder.capture()
        follows_log = Page(recorder.recording().html()).frames("trial0/follows_log")
    assert not follows_log[:, 0].any() and not follows_log[0, 1]
    assert follows_log[1:12, 1].all() and not follows_log[30:, 1].any()


@pytest.mark.parametrize("action_type", ["discrete", "multi_discrete", "continuous"])
def test_actions_are_shares_of_throttle_and_steering(action_type):
    config = DriveConfig(action_type=action_type, trial_steps=20, **IGNORE_ALL)
    with Batch(generate_scene("intersection", seed=1, agents=3), config=config) as batch:
        recorder, layout, observed = Recorder(batch), batch.observation_layout(), []
        rollout(batch, recorder, RandomDriver(batch, 5), 1,
                lambda: observed.append(batch.observations[:, layout["ego/steering"].offset].copy()))
        actions = recorder.recording().trials[0].actions
    # An observation has the wheel angle of the step as the same share.
    assert np.abs(actions[1:, :, 1] - observed[1:]).max() < 1e-6
    assert (actions[0] == 0).all() and np.abs(actions).max() <= 1


@pytest.mark.parametrize("action_type", ["discrete", "multi_discrete", "continuous"])
def test_what_the_caller_passes_for_agents_that_wait_is_not_recorded(action_type):
    config = DriveConfig(action_type=action_type, trial_steps=30, max_trials=2)
    with Batch("town", config=config) as batch:
        recorder, driver, waited = Recorder(batch), RandomDriver(batch, 5), []

        def with_garbage():
            actions = driver.act_all()
            actions[batch.waits] = np.nan if action_type == "continuous" else 10**6
            waited.append(batch.waits.copy())
            return actions

        rollout(batch, recorder, SimpleNamespace(act_all=with_garbage), 2)
        trials = recorder.recording().trials
    waited = np.stack(waited)
    assert waited.any() and not waited.all()
    # Frame 0 of a trial is that of the reset or of the restart step.
    actions = np.concatenate([trials[0].actions[1:], trials[1].actions])
    assert (actions[waited] == 0).all() and (actions[~waited] != 0).any()


# ---- events ----


def events_in_core(batch):
    """(R, 3) the core's own onsets of the step."""
    flags = [batch._core.state[name][0] for name in ("goal_onset", "collision_onset", "offroad_onset")]
    return np.stack(flags, axis=1).astype(bool) & ~batch.invalid_step[:, None]


@pytest.mark.parametrize("changes", [{}, IGNORE_ALL, {"reward": RewardConfig(collision=-0.5, offroad=-0.5)}],
                         ids=["stop", "ignore", "alike"])
@pytest.mark.parametrize("scene", ["town", "intersection"])
def test_events_are_those_that_the_core_found(scene, changes):
    found = []
    config = DriveConfig(max_trials=2, **changes)
    with Batch(generate_scene(scene, seed=3, agents=24), config=config) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, OddAgentsAtRandom(batch, 2), 2, lambda: found.append(events_in_core(batch)))
        trials = recorder.recording().trials
    events = np.concatenate([trial.events for trial in trials])
    assert (events == np.array(found, bool)).all()
    assert events.any(axis=(0, 1)).all()


def first_frames(events):
    """(R, 3) the frame of the first onset of each event in a trial; the number of frames if there is none."""
    return np.where(events.any(axis=0), events.argmax(axis=0), len(events))


def test_first_onsets_are_found_even_with_equal_reward_weights():
    found = []
    config = DriveConfig(reward=RewardConfig(collision=-0.5, offroad=-0.5), **IGNORE_ALL)
    with Batch(generate_scene("town", seed=3, agents=32), config=config) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, OddAgentsAtRandom(batch, 2), 1, lambda: found.append(events_in_core(batch)))
        trial, = recorder.recording().trials
    in_core = first_frames(np.array(found, bool))
    assert (first_frames(trial.events) == in_core).all()
    assert (in_core < trial.frame_count).any(axis=0).all()


def test_violations_drawn_weights_and_hidden_values_are_on_the_page():
    config = DriveConfig(traffic_controls=True, trial_steps=60, reward_ranges={"red_light": (-2.0, -1.0)},
                         hidden={"throttle_gain": (0.5, 1.5), "scope": "trial"}, max_trials=2, **IGNORE_ALL)
    violations, drawn = [], []
    with Batch(generate_scene("intersection", seed=5, agents=6, lights=True), config=config) as batch:
        recorder = Recorder(batch)

        def store():
            events = batch.step_events()
            violations.append(np.stack([events["red_light"], events["stop_sign"]], axis=1))
            drawn.append((batch.reward_weights, batch.hidden["throttle_gain"]))

        rollout(batch, recorder, FullThrottle(batch), 2, store)
        recording = recorder.recording()
    page = Page(recording.html())
    assert page.header["events"] == ["goal", "collision", "offroad", "red_light", "stop_sign"]
    assert page.header["hidden"] == ["throttle_gain"] and page.header["drawn_terms"] == ["red_light"]
    assert page.header["terms"] == list(REWARD_TERMS)
    found = np.concatenate([trial.events[..., 3:] for trial in recording.trials])
    assert (found == np.array(violations)).all() and found[..., 0].any()
    for number, frame in enumerate((0, recording.trials[0].frame_count)):
        weights, gains = drawn[frame]
        assert (page.frames(f"trial{number}/weights") == weights).all()
        assert (page.array(f"trial{number}/hidden") == gains).all()
    assert (page.array("trial0/hidden") != page.array("trial1/hidden")).all()


def test_the_reward_of_every_term_is_on_the_page():
    """It is the weight of the term times its fact, summed over the trial so far."""
    config = DriveConfig(reward_terms=True, trial_steps=80, max_trials=2, reward_ranges={"offroad": (-0.5, -0.1)},
                         reward={"progress_per_m": 0.02, "lane_alignment_per_s": 0.1, "time_per_s": -0.05})
    facts, weights, seen = [], [], set()
    with Batch(generate_scene("intersection", seed=5, agents=6), config=config, seed=3) as batch:
        recorder = Recorder(batch)

        def store():
            facts.append(batch.reward_terms.copy())
            weights.append(batch.reward_weights)

        rollout(batch, recorder, OddAgentsAtRandom(batch, 1), 2, store)
        page = Page(recorder.recording().html())
    rewarded = ["goal", "collision", "offroad", "progress", "time", "lane_alignment"]
    assert page.header["rewarded"] == rewarded
    terms, first = np.array(facts) * np.array(weights), 0
    for number, trial in enumerate(page.header["trials"]):
        so_far = np.cumsum(terms[first : first + trial["frames"]], axis=0)
        for term in rewarded:
            stored = page.frames(f"trial{number}/reward_sum_{term}")
            assert stored == pytest.approx(so_far[..., REWARD_TERMS.index(term)], abs=1e-5), term
            seen |= {term} if stored.any() else set()
        sums = sum(page.frames(f"trial{number}/reward_sum_{term}") for term in rewarded)
        assert sums == pytest.approx(np.cumsum(page.frames(f"trial{number}/rewards"), axis=0), abs=1e-4)
        first += trial["frames"]
    assert seen >= {"offroad", "progress", "time", "lane_alignment"}


def test_drawn_scripts_and_candidate_goals_are_on_the_page():
    task, drawn = hidden_closure(trials=2, seeds=[5]), []
    scene = replace(task.scenes[0], candidate_goals_m=np.array([[60.0, 0.0], [70.0, 0.0]], np.float32))
    with Batch(scene, config=task.config, seed=1) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, LaneDriver(batch), 2, lambda: drawn.append(batch.trial_state()["script_frame"]))
        page, scripts = Page(recorder.recording().html()), batch.roles[0].scripts
    stored = np.concatenate([page.frames(f"trial{number}/script_frame") for number in range(2)])
    assert (stored == drawn).all() and stored.shape[1] == 6 and stored.max() > 3
    assert np.abs(page.frames("scene0/script_line_m") - scripts.line_m).max() <= 0.00501
    for name in ("group", "option", "options"):
        assert (page.array(f"scene0/script_{name}")[0] == getattr(scripts, name)).all()
    assert (page.frames("scene0/candidate_m") == scene.candidate_goals_m).all()


# ---- recorder ----


def test_recording_changes_nothing():
    scene = generate_scene("intersection", seed=2, agents=6)
    config = DriveConfig(max_trials=2, trial_steps=25)
    with Batch(scene, config=config) as recorded, Batch(scene, config=config) as plain:
        recorder, driver, other = Recorder(recorded), LaneDriver(recorded), LaneDriver(plain)
        recorded.reset()
        plain.reset()
        for _ in range(80):
            recorder.capture()
            recorded.step(driver.act_all())
            plain.step(other.act_all())
            assert recorded.observations.tobytes() == plain.observations.tobytes()
    assert [trial.complete for trial in recorder.recording().trials] == [True, True, True, False]


def test_a_world_of_many_is_recorded_as_if_it_were_alone():
    scene = generate_scene("intersection", seed=2, agents=4)
    config = DriveConfig(trial_steps=20)
    with Batch(scene, num_worlds=3, config=config) as many, Batch(scene, config=config, world_ids=[2]) as one:
        recorders = Recorder(many, world=2), Recorder(one)
        rollout(many, recorders[0], LaneDriver(many), 1)
        rollout(one, recorders[1], LaneDriver(one), 1)
        one_html, other_html = (recorder.recording().html() for recorder in recorders)
    assert one_html == other_html


def test_agents_without_a_vehicle_are_left_out(sample_path):
    config = DriveConfig(agents_per_world=8, trial_steps=5)
    with Batch(sample_path("pufferdrive/map_000.bin"), config=config) as batch:
        recorder = Recorder(batch)
        rollout(batch, recorder, RandomDriver(batch), 1)
        trial, = recorder.recording().trials
        assert batch.agents_per_world == 8 and trial.rewards.shape[1] == batch.roles[0].num_agents < 8
        assert trial.x_m.shape[1] == len(batch.roles[0].objects)


def test_a_recorder_made_amid_a_trial_waits_for_the_next_one():
    config = DriveConfig(max_trials=2, trial_steps=10, **IGNORE_ALL)
    with Batch(generate_scene("intersection", seed=2, agents=4), config=config) as batch:
        recorder, driver = Recorder(batch), RandomDriver(batch)
        batch.reset()
        for step in range(1, 27):
            batch.step(driver.act_all())
            if step >= 3:
                recorder.capture()
            if step == 10:
                with pytest.raises(CallError, match="no start of a trial was captured"):
                    recorder.recording()
        trials = recorder.recording().trials
    # Steps 11 and 22 restart: the rest of the first episode, and the beginning of the next.
    assert [(trial.episode, trial.index, trial.frame_count, trial.complete) for trial in trials] == [
        (0, 1, 11, True), (1, 0, 5, False)]


def test_a_reset_amid_a_trial_opens_an_episode():
    config = DriveConfig(trial_steps=10, **IGNORE_ALL)
    with Batch(generate_scene("intersection", seed=2, agents=4), config=config) as batch:
        recorder, driver = Recorder(batch), RandomDriver(batch)
        for _ in range(2):
            batch.reset()
            recorder.capture()
            for _ in range(4):
                batch.step(driver.act_all())
                recorder.capture()
        trials = recorder.recording().trials
    kept = [(trial.episode, trial.frame_count, trial.complete) for trial in trials]
    assert kept == [(0, 5, False), (1, 5, False)]


def test_a_world_that_is_not_there_is_an_error():
    with Batch(generate_scene("intersection", agents=2), num_worlds=2) as batch:
        for world in (2, -1, True, "0"):
            with pytest.raises(ConfigError, match="world is .*it must be a whole number from 0 to 1"):
                Recorder(batch, world)


def test_a_batch_that_was_not_reset_or_is_closed_is_an_error():
    batch = Batch(generate_scene("intersection", agents=2))
    recorder = Recorder(batch)
    with pytest.raises(CallError, match="capture was called before reset"):
        recorder.capture()
    batch.close()
    with pytest.raises(CallError, match="closed"):
        recorder.capture()


# ---- page ----


def test_the_page_makes_no_request_and_shows_a_title_as_text(played):
    html = played[1].html(title="</title><script>alert(1)</script> & more")
    assert "&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in html
    assert "alert(1)</script>" not in html
    # The name space of SVG is a name, not an address that is requested.
    assert set(re.findall(r"\w+://[\w./]+", html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"""(src|href)=["'](?!data:)""", html)
    assert "default-src 'none'" in html


def test_every_script_is_on_the_page_and_begins_with_its_question():
    files = {entry.name for entry in resources.files("drive_env.replay").joinpath("web").iterdir()}
    assert files == {f"{name}.js" for name in SCRIPTS} | {"page.html", "page.css"}
    for name in files - {"page.html"}:
        first = resources.files("drive_env.replay").joinpath("web", name).read_text().split("*/")[0]
        assert first.startswith("/* ") and "?" in first, name


def test_a_page_tells_co_players_apart():
    scene = generate_scene("intersection", seed=2, agents=6)
    with Batch(scene, config=DriveConfig(trial_steps=3, coplayers=2), seed=4) as batch:
        recorder, drawn = Recorder(batch), []
        rollout(batch, recorder, RandomDriver(batch, 1), 3, lambda: drawn.append(np.flatnonzero(batch.coplayer)))
        page = Page(recorder.recording().html())
    assert [trial["coplayers"] for trial in page.header["trials"]] == [one.tolist() for one in drawn[::4]]
    assert len({tuple(trial["coplayers"]) for trial in page.header["trials"]}) > 1
