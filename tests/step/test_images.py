"""Does an image show what is around the agent, pixel by pixel? Against shapes tested in float64 at every pixel."""

import gymnasium
import numpy as np
import pytest
from scripted_scenes import ACCELERATION_BINS, STEERING_BINS, STRAIGHT, discrete

from drive_env import Batch, ConfigError, DictObservation, DriveConfig, generate_scene, parallel_env
from drive_env.scenes.scene import ROAD_KINDS

LAYERS = ("edges", "lines", "lanes", "crosswalks", "controls", "partners", "self", "goal")
IMAGES = DriveConfig(observation={"type": "image", "partners": 4, "roads": 4}, image={"size": 24}, trial_steps=30)
EVERYTHING = IMAGES.replace(traffic_controls=True, image={"size": 40, "metres_per_pixel": 1.3, "layers": LAYERS})
SCENE = generate_scene("intersection", seed=1, agents=8, lights=True)
SMALLEST = np.sqrt(0.5)
"""Half of the least size that is drawn, in pixels; rounding is within `DOUBT`."""
DOUBT = 2e-3


class Canvas:
    """The pixels of an agent's image: centres in metres ahead of the agent and to its left."""

    def __init__(self, config, x_m, y_m, heading_rad):
        size, self.pixel_m = config.image.size, config.image.metres_per_pixel
        along = (size / 2 - 0.5 - np.arange(size)) * self.pixel_m
        ahead, left = np.meshgrid(along, along, indexing="ij")
        c, s = np.cos(heading_rad), np.sin(heading_rad)
        self.x_m, self.y_m = x_m + ahead * c - left * s, y_m + ahead * s + left * c
        self.pose, self.half_m = (x_m, y_m, c, s), along[0]

    def box(self, x_m, y_m, heading_rad, half_length_m, half_width_m):
        """(size, size): the distance of each pixel from the border of a box, in pixels; below 0 inside."""
        c, s = np.cos(heading_rad), np.sin(heading_rad)
        dx, dy = (self.x_m - x_m) / self.pixel_m, (self.y_m - y_m) / self.pixel_m
        return np.maximum(np.abs(dx * c + dy * s) - max(half_length_m / self.pixel_m, SMALLEST),
                          np.abs(dy * c - dx * s) - max(half_width_m / self.pixel_m, SMALLEST))

    def line(self, start_m, end_m):
        (x0, y0), (x1, y1) = start_m, end_m
        return self.box((x0 + x1) / 2, (y0 + y1) / 2, np.arctan2(y1 - y0, x1 - x0), np.hypot(x1 - x0, y1 - y0) / 2, 0)

    def goal(self, goal_m, radius_m):
        """The same for a disc; one outside of the image is at the border, in its direction."""
        x, y, c, s = self.pose
        ahead, left = (goal_m[0] - x) * c + (goal_m[1] - y) * s, (goal_m[1] - y) * c - (goal_m[0] - x) * s
        nearer = min(1.0, self.half_m / max(abs(ahead), abs(left)))
        ahead, left = ahead * nearer, left * nearer
        distance_m = np.hypot(self.x_m - (x + ahead * c - left * s), self.y_m - (y + ahead * s + left * c))
        return distance_m / self.pixel_m - max(radius_m / self.pixel_m, SMALLEST)


def expected(batch, agent, layer):
    """The shapes of a layer as (distances, value), in the order in which they are drawn."""
    scene, config, vehicles = batch.scenes[0], batch.config, batch.vehicles()
    x_m, y_m, heading_rad = (vehicles[name].astype(float) for name in ("x_m", "y_m", "heading_rad"))
    canvas = Canvas(config, x_m[agent], y_m[agent], heading_rad[agent])
    speed = np.floor(128.5 + 127 * np.clip(vehicles["speed_mps"] / config.dynamics.max_speed_mps, -1, 1))
    box = lambda i: (canvas.box(x_m[i], y_m[i], heading_rad[i], vehicles["length_m"][i] / 2,
                                vehicles["width_m"][i] / 2), speed[i])
    if layer in ("partners", "self"):
        return [box(i) for i in np.flatnonzero(vehicles["present"]) if (i == agent) == (layer == "self")]
    if layer == "goal":
        return [(canvas.goal(batch.trial_state()["goal_m"][agent].astype(float), config.goal_radius_m), 255)]
    if layer == "controls":
        values = np.array([0, 255, 170, 85])[batch.light_states()]  # all controls of the scene are lights
        lines = scene.traffic_controls.line_m.reshape(-1, 2, 2).astype(float)
        return [(canvas.line(*line), value) for line, value in zip(lines, values) if value]
    points = np.stack([scene.roads.x_m, scene.roads.y_m], axis=1).astype(float)
    starts = scene.roads.start
    return [(canvas.line(points[i], points[i + 1]), 255)
            for road in np.flatnonzero([ROAD_KINDS[kind] == layer.removesuffix("s") for kind in scene.roads.kind])
            for i in range(starts[road], starts[road + 1] - 1)]


@pytest.fixture(scope="module")
def played():
    batch = Batch(SCENE, config=EVERYTHING, threads=1, seed=3)
    batch.reset()
    rng = np.random.default_rng(0)
    for _ in range(9):
        batch.step(rng.integers(0, batch.single_action_space.n, batch.num_agents))
    yield batch
    batch.close()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_pixel_is_filled_where_its_centre_is_in_a_shape(played, layer):
    filled = 0
    for agent in np.flatnonzero(~played.removed):
        pixels, doubtful = np.zeros((40, 40)), np.zeros((40, 40), bool)
        for distance, value in expected(played, agent, layer):
            pixels = np.where(distance <= 0, value, pixels)
            doubtful |= np.abs(distance) < DOUBT
        found = played.images[agent, LAYERS.index(layer)]
        np.testing.assert_array_equal(found[~doubtful], pixels[~doubtful])
        filled += (found > 0).sum()
    assert filled > 0 or layer == "crosswalks"  # of which the scene has none


def test_ahead_is_up_and_left_is_left():
    scene = generate_scene("town", seed=0, agents=6)
    with Batch(scene, config=IMAGES.replace(image={"layers": ("goal",), "metres_per_pixel": 8.0}), threads=1) as batch:
        batch.reset()
        layout, vectors = batch.observation_layout(), batch.float_observations()
        ahead_m, left_m = (vectors[:, layout[f"ego/goal_{axis}"].slice][:, 0] * 100 for axis in "xy")
        rows, columns = (np.array([np.nonzero(image[0])[axis].mean() for image in batch.images]) for axis in (0, 1))
    inside = np.maximum(np.abs(ahead_m), np.abs(left_m)) < 80
    assert inside.any()
    np.testing.assert_allclose(rows[inside], 11.5 - ahead_m[inside] / 8, atol=0.8)
    np.testing.assert_allclose(columns[inside], 11.5 - left_m[inside] / 8, atol=0.8)


def test_every_trial_begins_with_the_same_images_and_waiting_agents_keep_or_lose_theirs():
    config = EVERYTHING.replace(max_trials=2, trial_steps=60, on_collision="stop", on_offroad="remove")
    stopped = removed = 0
    with Batch(SCENE, num_worlds=2, config=config, threads=1, seed=0) as batch:
        batch.reset()
        first = batch.images.copy()
        while not batch.trial_ended.all():
            before, waits = batch.images.copy(), batch.stopped.copy()
            steering = np.where(np.arange(batch.num_agents) % 2, STRAIGHT, STEERING_BINS - 1)
            batch.step(discrete(batch, ACCELERATION_BINS - 1, steering))
            np.testing.assert_array_equal(batch.images[waits], before[waits])
            assert not batch.images[batch.removed].any() and batch.images[~batch.removed].any(axis=(2, 3))[:, 6].all()
            stopped, removed = stopped + waits.sum(), removed + batch.removed.sum()
        batch.step(batch.actions)
        np.testing.assert_array_equal(batch.images, first)
    assert stopped and removed


def test_a_blind_agent_observes_no_vehicle_and_a_hidden_goal_is_not_drawn():
    config = IMAGES.replace(observation={"partners": 0, "goal_reveal_s": 0.0}, disturbances={
        "partner_blindness": 1.0, "trigger_probability": 1.0})
    with Batch(SCENE, num_worlds=8, config=config, threads=1) as batch:
        batch.reset()
        is_blind = batch._core.state["blind_steps"].reshape(-1) > 0
        partners = batch.images[:, config.image.layers.index("partners")].any(axis=(1, 2))
        assert is_blind.any() and not partners[is_blind].any() and partners[~is_blind].any()
        assert not batch.images[:, config.image.layers.index("goal")].any()
    with pytest.raises(ConfigError, match="partner_blindness is 1.0; with observation.partners 0 it must be 0"):
        config.replace(image={"layers": ("edges",)})


@pytest.mark.parametrize("as_dicts", [False, True])
def test_every_env_returns_the_images_of_its_batch(as_dicts):
    # the envs
    form = DictObservation(IMAGES)
    single = gymnasium.make("drive_env/Drive-v0", scenes=SCENE, config=IMAGES, dict_observations=as_dicts)
    vector = gymnasium.make_vec("drive_env/Drive-v0", num_envs=2, scenes=SCENE, config=IMAGES, threads=1,
                                dict_observations=as_dicts)
    agents = [parallel_env(SCENE, IMAGES, dict_observations=as_dicts, copy=copy) for copy in (True, False)]

    def check(observation, batch, index, space):
        assert observation in space
        image = observation["image"] if as_dicts else observation
        assert image.dtype == np.uint8 and image.shape[-3:] == (5, 24, 24) and image.any()
        np.testing.assert_array_equal(image, batch.images[index])
        if as_dicts:
            np.testing.assert_equal({**observation, "image": None}, {**form.split(batch.observations[index]),
                                                                     "image": None})

    # a reset and a step of each
    for env, index in ((single, 0), (vector, slice(None))):
        batch = env.unwrapped.batch
        check(env.reset(seed=1)[0], batch, index, env.observation_space)
        check(env.step(env.action_space.sample())[0], batch, index, env.observation_space)
    for env in agents:
        observations, _ = env.reset(seed=1)
        for step in range(2):
            for agent, observation in observations.items():
                check(observation, env.batch, env.possible_agents.index(agent), env.observation_space(agent))
            observations = env.step({agent: env.action_space(agent).sample() for agent in env.agents})[0]
        assert env.state() in env.state_space and env.state().dtype == np.float32


def test_a_batch_without_images_says_which_config_has_them():
    with Batch(SCENE, threads=1) as batch, pytest.raises(AttributeError, match=r"observation\.type 'image' only"):
        batch.images
