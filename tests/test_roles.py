"""Which objects of a scene become agents, and what do the others do?"""

import copy

import pytest
from golden import with_lists
from scripted_scenes import Actor, batch_of, discrete, drive, driver, log_replay, onsets, sample, stage, standing

from drive_env import Batch, ConfigError, DriveConfig, SceneError, generate_scene

CONTROLS = {
    "vehicles": {"control": "vehicles"},
    "sdc": {"control": "sdc"},
    "tracks_to_predict": {"control": "tracks_to_predict"},
    "ids": {"control": (100,)},
    "all": {"control": "all"},
}


def object_of(batch, vehicle=0):
    return int(batch.roles[0].objects[vehicle])


@pytest.mark.parametrize("others", ("replay", "static"))
@pytest.mark.parametrize("logs", (False, True))
@pytest.mark.parametrize("control", CONTROLS)
def test_static_vehicles_are_observed_and_collided_with_in_every_control_mode(control, logs, others):
    bystander = standing(30, 15.5, 0.0) if logs else Actor(15.5, 0.0)
    scene = stage([driver(speed_mps=10.0), bystander], sdc=0, tracks=(0,))
    batch = batch_of(scene, others=others, on_collision="ignore", **CONTROLS[control])
    assert batch.agents_per_world == (2 if control == "all" else 1)
    feature = batch.observation_layout()["partners/kind"]
    assert batch.observations[0, feature.slice][0] == 0.25
    record = drive(batch, 12)
    assert onsets(record, "collision_onset") == [11] and record["rewards"][11, 0] == -0.5


def test_agents_are_vehicles_with_a_distant_goal_that_are_not_marked_as_expert():
    scene = stage([
        driver(0.0, 0.0),
        Actor(0.0, 10.0),                             # on its own goal
        driver(0.0, 20.0, kind="pedestrian"),
        driver(0.0, 30.0, expert=True),
        driver(0.0, 40.0, goal_m=(1.9, 40.0)),        # within goal_radius_m
        driver(0.0, 50.0, goal_m=(2.1, 50.0)),
        log_replay([None, (0.0, 60.0, 0.0, 0.0)], expert=False),  # not on the map at the start
        driver(0.0, 70.0, kind="cyclist"),
        driver(0.0, 80.0, kind="other"),
    ])
    batch = batch_of(scene)
    assert batch.roles[0].objects[:2].tolist() == [0, 5] and batch.agents_per_world == 2
    dropped = batch.scene_report().dropped
    assert dropped["agent role, not of kind vehicle"] == 3 and dropped["agent role, marked for log replay"] == 1
    assert dropped["agent role, not valid at the start"] == 1
    assert dropped["agent role, goal within goal_radius_m of the start"] == 2


def test_every_control_names_its_agents_in_object_order():
    actors = [driver(0.0, 10.0 * i, kind="pedestrian" if i == 3 else "vehicle", expert=i == 4)
              for i in range(6)]
    scene = stage([*actors, log_replay([None, (0.0, 99.0, 0.0, 0.0)])], sdc=4, tracks=(5, 3))
    for control, agents in (("vehicles", [0, 1, 2, 5]), ("all", [0, 1, 2, 3, 4, 5]), ("sdc", [4]),
                            ("tracks_to_predict", [3, 5]), ((105, 101), [1, 5]), ([102], [2])):
        roles = batch_of(scene, control=control).roles[0]
        assert roles.objects[: roles.num_agents].tolist() == agents, control
        assert sorted(roles.objects.tolist()) == list(range(7))


def test_a_control_that_selects_no_agent_is_an_error():
    scene = stage([driver(), log_replay([None, (0.0, 99.0, 0.0, 0.0)])])
    names = {"sdc": "sdc", "tracks_to_predict": "tracks", (7,): "7", (101,): "not valid"}
    for control, words in names.items():
        with pytest.raises(SceneError, match=words):
            batch_of(scene, control=control)


def test_an_id_that_no_object_has_is_reported():
    batch = batch_of(stage([driver(), driver(0.0, 10.0)]), control=(100, 999))
    assert batch.scene_report().dropped["agent role, no object has the id 999 of control"] == 1


def test_a_cap_takes_the_nearest_to_the_recording_vehicle_and_else_the_first():
    places = [50.0, 10.0, 0.0, 30.0, 20.0, 40.0]
    actors = [driver(0.0, y) for y in places]
    for cap, agents in ((1, [2]), (3, [1, 2, 4]), (4, [1, 2, 3, 4]), (6, list(range(6)))):
        batch = batch_of(stage(actors, sdc=2), agents_per_world=cap)
        assert batch.roles[0].objects[:cap].tolist() == agents
        batch = batch_of(stage(actors), agents_per_world=cap)
        assert batch.roles[0].objects[:cap].tolist() == list(range(cap))
    # A recording vehicle that is not on the map at the start is near to no vehicle.
    gone = stage([*actors, log_replay([None, (0.0, 0.0, 0.0, 0.0)])], sdc=6)
    assert batch_of(gone, agents_per_world=2).roles[0].objects[:2].tolist() == [0, 1]


def test_a_cap_above_what_a_file_has_leaves_agents_absent():
    batch = batch_of(stage([driver(), driver(0.0, 10.0)]), agents_per_world=5)
    assert batch.agents_per_world == 5 and batch.removed.tolist() == [False, False, True, True, True]
    assert not batch.observations[2:].any()
    for _ in range(3):
        batch.step(discrete(batch))
        assert batch.invalid_step.tolist() == [False, False, True, True, True]


def test_a_cap_is_exact_for_generated_scenes():
    scene = generate_scene("intersection", seed=0, agents=6)
    assert batch_of(scene, agents_per_world=6).agents_per_world == 6
    capped = batch_of(scene, agents_per_world=2)
    assert capped.roles[0].num_agents == 2 and len(capped.vehicles()["x_m"]) == 6
    with pytest.raises(ConfigError, match="agents_per_world is 7"):
        batch_of(scene, agents_per_world=7)
    assert batch_of("town", agents_per_world=40, trial_steps=5).roles[0].num_agents == 40


def test_agents_of_a_batch_are_those_of_its_largest_scene():
    small, large = stage([driver()]), stage([driver(), driver(0.0, 10.0), driver(0.0, 20.0)])
    assert batch_of([small, large]).agents_per_world == 3


def test_others_that_are_static_stand_where_they_started():
    log = [(20.0 + frame, 5.0, 0.0, 10.0) for frame in range(10)]
    late = [None, *log[1:]]
    batch = batch_of(stage([driver(), log_replay(log), log_replay(late)]), others="static")
    for _ in range(12):
        batch.step(discrete(batch))
        now = batch.vehicles()
        assert len(now["x_m"]) == 2 and now["x_m"][1] == 20.0 and now["y_m"][1] == 5.0 and now["present"][1]
        assert now["speed_mps"][1] == 0.0
    assert batch.scene_report().dropped["objects not on the map at the start"] == 1


def test_the_real_scenes_have_their_known_numbers_of_agents_and_objects():
    for name, agents in (("map_942", 14), ("map_000", 1)):
        scene = sample(f"pufferdrive/{name}.bin")
        batch = Batch(scenes=[scene])
        assert batch.agents_per_world == agents == batch.roles[0].num_agents
        assert batch.roles[0].trial_steps == scene.objects.frame_count - 1 == 90
        kinds = [int((scene.objects.kind == code).sum()) for code in (1, 2, 3)]
        assert kinds == {"map_942": [77, 2, 0], "map_000": [50, 12, 2]}[name]


def test_a_report_counts_each_thing_once_however_often_a_batch_is_copied():
    batch = batch_of(stage([driver(speed_mps=100.0)]))
    reason = "start speeds brought within min_speed_mps and max_speed_mps"
    assert batch.roles[0].report.imputed[reason] == 1
    assert copy.deepcopy(batch).roles[0].report.imputed[reason] == 1


def test_the_report_counts_lights_signs_scripts_and_candidate_goals():
    def notes(*arguments, traffic_controls=False, **parameters):
        scene = generate_scene(*arguments, **parameters)
        return "\n".join(batch_of(scene, traffic_controls=traffic_controls).scene_report().notes)

    lit = generate_scene("intersection", seed=1, lights=True)
    count = lit.traffic_controls.count
    assert f"traffic lights: {count}\n" in notes("intersection", seed=1, lights=True, traffic_controls=True)
    assert (f"traffic lights: {count}, without effect, since traffic_controls is False"
            in notes("intersection", seed=1, lights=True))
    assert ("traffic lights and signs: 0, so traffic_controls has no effect in this scene"
            in notes("intersection", seed=1, traffic_controls=True))
    assert "traffic" not in notes("intersection", seed=1)
    assert "objects with scripts, of which each episode draws some: 4" in notes("gates")
    assert "candidate goals, one of which each episode draws for an agent: 3" in notes("exits")


def test_the_report_says_whether_goal_lists_have_an_effect():
    scene = with_lists(generate_scene("town", agents=4))  # three of them

    def notes(**choices):
        return Batch(scene, config=DriveConfig(**choices)).scene_report().notes

    assert "agents with goal lists: 3" in notes(on_goal="next")
    assert "agents with goal lists: 3, without effect, since on_goal is 'remove'" in notes()
    assert "agents with goal lists: 1, without effect, since on_goal is 'respawn'" in notes(
        on_goal="respawn", control=(int(scene.objects.id[0]), int(scene.objects.id[3])))
    assert not [note for note in batch_of(generate_scene("town", agents=4)).scene_report().notes if "lists" in note]


def test_scenes_with_and_without_controls_play_in_one_batch():
    scenes = [generate_scene("intersection", seed=1, agents=4, lights=lights) for lights in (True, False)]
    batch = batch_of(scenes, num_worlds=2, traffic_controls=True, scene_order="cycle")
    assert [batch.light_states(world).size > 0 for world in (0, 1)] == [True, False]
    assert [note for note in batch.scene_report(1).notes if "no effect" in note]
