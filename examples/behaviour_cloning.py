"""How is a policy cloned from logs? `expert_actions` gives the actions of the logs, a replay the observations.

Without FILE the logs are drives of the rule-based `LaneDriver` at generated intersections; with FILE they are those of
scene files. The clone is a small network, trained by supervised learning, and is judged at held-out intersections.

    python examples/behaviour_cloning.py [FILE ...]
"""

import argparse
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from drive_env import Batch, DictObservation, DriveConfig, generate_scene, load_scene
from drive_env.drivers import LaneDriver

STEPS, AGENTS = 200, 4
"""Steps of 0.1 s of a log, and agents of a scene."""

NOISE, NOISE_STEPS = 0.1, 5
"""Of the steering in generated logs, and for how long it lasts: logs without it show no way back to the lane."""

parser = argparse.ArgumentParser()
parser.add_argument("files", nargs="*", help="scene files with logs; without any, generated intersections")
parser.add_argument("--scenes", type=int, default=16)
parser.add_argument("--updates", type=int, default=1000)
options = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(1)  # such small networks are faster on one core
rng = np.random.default_rng(0)
config = DriveConfig(action_type="continuous", trial_steps=STEPS, observation={"partners": 3, "roads": 32},
                     scene_order="cycle")
form, SETS, OWN = DictObservation(config), ("partners", "roads"), ("ego",)
replayed = config.replace(on_goal="ignore", on_collision="ignore", on_offroad="ignore")  # no replay ends early


def with_log(scene):
    """The scene with a log of each vehicle: what the rule-based driver does with it, under noise."""
    with Batch(scene, config=replayed) as batch:
        batch.reset(seed=0)
        driver, frames = LaneDriver(batch), [batch.vehicles()]
        for step in range(STEPS - 1):
            if step % NOISE_STEPS == 0:
                noise = rng.normal(0.0, NOISE, batch.num_agents)
            actions = driver.act_all()
            actions[:, 1] = np.clip(actions[:, 1] + noise, -1, 1)
            batch.step(actions)
            frames.append(batch.vehicles())
    x_m, y_m, heading_rad, speed_mps = (
        np.stack([frame[name] for frame in frames]) for name in ("x_m", "y_m", "heading_rad", "speed_mps"))
    objects = replace(scene.objects, x_m=x_m, y_m=y_m, heading_rad=heading_rad, vx_mps=speed_mps * np.cos(heading_rad),
                      vy_mps=speed_mps * np.sin(heading_rad), valid=np.ones(x_m.shape, bool), z_m=None)
    return replace(scene, objects=objects, generated=False, traffic_controls=None)


def demonstrations(scenes):
    """Observations and actions of all steps of the logs, from a replay with one world per scene."""
    observations, actions = [], []
    with Batch(scenes, num_worlds=len(scenes), config=replayed, seed=0) as batch:
        batch.reset()
        expert = batch.expert_actions()
        for step in range(len(expert.actions)):
            learned = expert.valid[step] & ~batch.waits  # the action of a log, and an observation of a driving agent
            observations.append(batch.observations[learned])
            actions.append(expert.actions[step][learned])
            batch.step(expert.actions[step])
            if batch.trial_ended.any():
                break
    return np.concatenate(observations), torch.from_numpy(np.concatenate(actions))


def parts_of(observations):
    """The sets and the own features of observation vectors, as tensors."""
    return {name: torch.from_numpy(np.ascontiguousarray(part)) for name, part in form.split(observations).items()
            if name in (*SETS, *OWN)}


def evaluated(act):
    """The share of agents that reach their goals, and that collide, at held-out intersections."""
    unseen = [generate_scene("intersection", seed=1000 + seed, agents=AGENTS) for seed in range(8)]
    with Batch(unseen, num_worlds=len(unseen), config=config, seed=0) as batch:
        batch.reset()
        for _ in range(STEPS):
            batch.step(act(batch))
        report = batch.metrics()
    return ", ".join(f"{name} {report[name].value:.2f}" for name in ("goal", "collision", "offroad"))


class Clone(nn.Module):
    """The agent's own features, and the maximum over the codes of vehicles and of road segments, to an action."""

    def __init__(self, sample, width=64):
        super().__init__()
        self.codes = nn.ModuleDict({name: nn.Sequential(
            nn.Linear(sample[name].shape[-1], width), nn.ReLU(), nn.Linear(width, width)) for name in SETS})
        inputs = sum(sample[name].shape[-1] for name in OWN) + width * len(SETS)
        self.head = nn.Sequential(nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, parts):
        codes = [self.codes[name](parts[name]).max(dim=-2).values for name in SETS]
        return self.head(torch.cat([parts[name] for name in OWN] + codes, dim=-1)).clamp(-1, 1)


# ---- data, training, evaluation ----

scenes = [load_scene(file) for file in options.files] or [
    with_log(generate_scene("intersection", seed=seed, agents=AGENTS)) for seed in range(options.scenes)]
observations, actions = demonstrations(scenes)
print(f"demonstrations: {len(actions)} steps of {len(scenes)} scenes")

clone = Clone(parts_of(observations[:1]))
optimizer = torch.optim.Adam(clone.parameters(), lr=1e-3)
for update in range(options.updates):
    chosen = rng.integers(len(actions), size=256)
    loss = nn.functional.mse_loss(clone(parts_of(observations[chosen])), actions[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 250 == 0:
        print(f"update {update}, loss {loss.item():.4f}")

with torch.no_grad():
    print("clone:", evaluated(lambda batch: clone(parts_of(batch.observations)).numpy()))
print("random:", evaluated(lambda batch: rng.uniform(-1, 1, batch.actions.shape).astype(np.float32)))
