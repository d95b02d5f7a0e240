"""Typed user code without a cast or an ignored error, checked by mypy --strict and run."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import numpy.typing as npt

import drive_env
from drive_env import (
    Batch,
    BatchPart,
    DriveConfig,
    DynamicsConfig,
    MetricValue,
    ObservationConfig,
    RewardConfig,
    Scene,
    generate_scene,
    parallel_env,
)
from drive_env.drivers import LaneDriver, RandomDriver
from drive_env.api.gym import DriveEnv, DriveVectorEnv
from drive_env.replay import Recorder, Recording
from drive_env.scenes import Scenes


def choose(observations: npt.NDArray[np.float32], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    return rng.integers(0, 91, len(observations))


def own_reward(batch: Batch) -> npt.NDArray[np.float32]:
    doubled: npt.NDArray[np.float32] = batch.rewards * np.float32(2.0)
    return doubled


def collect(scenes: Scenes, config: DriveConfig, steps: int) -> dict[str, MetricValue]:
    rng = np.random.default_rng(0)
    with Batch(scenes, num_worlds=2, config=config, seed=3, threads=1, reward=own_reward) as batch:
        batch.reset(seed=[1, 2])
        for _ in range(steps):
            batch.actions[:] = choose(batch.observations, rng)
            batch.step(batch.actions)
            counted: npt.NDArray[np.bool_] = ~batch.invalid_step
            reward: float = float(batch.rewards[counted].sum())
            assert np.isfinite(reward)
        speed = batch.observation_layout()["ego/speed"]
        fast: npt.NDArray[np.float32] = batch.observations[:, speed.slice] / np.float32(speed.scale)
        assert fast.shape == (batch.num_agents, 1)
        return batch.metrics()


def overlap(scenes: Scenes, config: DriveConfig, steps: int) -> float:
    rng, total = np.random.default_rng(0), 0.0
    with Batch(scenes, num_worlds=4, config=config, threads=1, parts=2) as batch:
        batch.reset()
        first, second = batch.parts
        first.step_async(choose(first.observations, rng))
        for _ in range(steps):
            begun: BatchPart
            for begun, ended in ((second, first), (first, second)):
                begun.step_async(choose(begun.observations, rng))
                ended.wait()
                total += float(ended.rewards.sum())
        first.wait()
        own: npt.NDArray[np.float32] = batch.observations[first.agent_slice]
        assert np.array_equal(own, first.observations)
    return total


def play_agents(scene: Scene) -> float:
    env = parallel_env(scene, DriveConfig(trial_steps=10), reward=own_reward)
    observations, _ = env.reset(seed=0)
    assert set(observations) == set(env.agents)
    total = 0.0
    while env.agents:
        actions = {agent: int(env.action_space(agent).sample()) for agent in env.agents}
        observations, rewards, terminations, _, _ = env.step(actions)
        total += sum(rewards.values())
        assert all(not flag or agent not in env.agents for agent, flag in terminations.items())
    env.close()
    return total


def play_one(scene: Scene, config: DriveConfig) -> tuple[float, bool]:
    env: gymnasium.Env[npt.NDArray[np.float32], int] = DriveEnv(scene, config)
    observation, _ = env.reset(seed=0)
    observation, reward, terminated, truncated, _ = env.step(45)
    assert observation.shape == env.observation_space.shape
    envs = DriveVectorEnv(3, scenes=[scene, "intersection"], config=config, autoreset_mode="SameStep")
    envs.reset(seed=0)
    envs.step(np.full(3, 45))
    envs.close()
    env.close()
    return float(reward), terminated or truncated


def play_in_half_floats(scene: Scene) -> None:
    config = DriveConfig(trial_steps=10, observation={"type": "float16"})
    agents = parallel_env(scene, config)
    by_agent: dict[str, npt.NDArray[np.float16]] = agents.reset(seed=0)[0]
    by_agent = agents.step(dict.fromkeys(agents.agents, 45))[0]
    joint: npt.NDArray[np.float16] = agents.state()
    env = DriveEnv(scene, config)
    observation: npt.NDArray[np.float16] = env.reset(seed=0)[0]
    observation = env.step(45)[0]
    envs = DriveVectorEnv(2, scene, config)
    stacked: npt.NDArray[np.float16] = envs.reset(seed=0)[0]
    stacked = envs.step(np.full(2, 45))[0]
    assert all(array.dtype == np.float16 for array in (*by_agent.values(), joint, observation, stacked))


def record(scene: Scene, page: Path) -> Recording:
    batch = Batch([scene, "town"])
    driver, rng, recorder = LaneDriver(batch), RandomDriver(batch, seed=1), Recorder(batch)
    batch.reset()
    recorder.capture()
    batch.step(driver.act_all())
    batch.step(rng.act_all())
    recorder.capture()
    roles: drive_env.Roles = batch.roles[0]
    assert roles.num_agents + roles.log_replay_count + roles.rule_based_count + roles.static_count == len(roles.objects)
    recording = drive_env.record(scene, lambda played: np.full(played.num_agents, 45), DriveConfig(trial_steps=5))
    recording.save_html(page)
    return recording


def sentence_of_an_error() -> str:
    try:
        DriveConfig().replace(dt_s=-1.0)
    except drive_env.ConfigError as error:
        return str(error)
    raise AssertionError("a negative time step was accepted")


def main(folder: Path) -> None:
    scene = generate_scene("town", seed=1, agents=8, lane_width_m=3.5)
    config = DriveConfig(max_trials=2, on_collision="remove", reward=RewardConfig(goal=2.0), trial_steps=20)
    longer: DriveConfig = config.replace(trial_steps=30)
    few = DriveConfig(observation={"partners": 3}, dynamics="bicycle", reward={"goal": 2.0})
    slots: int = few.observation.partners
    dynamics: DynamicsConfig = few.dynamics
    assert slots == 3 and dynamics.model == "bicycle" and few.observation == ObservationConfig(partners=slots)
    assert collect([scene], longer, 40)["score"].n > 0
    assert np.isfinite(overlap([scene], longer, 10)) and np.isfinite(play_agents(scene))
    assert play_one(scene, config)[1] is False
    play_in_half_floats(scene)
    assert len(record(scene, folder / "page.html").trials) == 1
    assert "dt_s is -1.0" in sentence_of_an_error()
    assert drive_env.__version__
