"""What is a procedural map? Blocks in a random order, as MetaDrive draws them."""

from __future__ import annotations

from . import block_map
from .blocks import BLOCKS
from .chain import BlockSpec
from .parameters import Parameter
from .parts import Parts
from .rng import Rng

DEFAULT_AGENTS = block_map.DEFAULT_AGENTS

TRIAL_STEPS = 400
"""Cars wait at junctions and yield lines, and drive up to 220 m."""

DIFFICULTY = "A different map for every seed: bends, ramps, crossings and roundabouts."

PARAMETERS = {"blocks": Parameter(3, "blocks", "blocks after the first road", 1, 10), **block_map.PARAMETERS}


def build(rng: Rng, agents: int, blocks: int, lanes: int, lane_width_m: float, speed_limit_mps: float) -> Parts:
    """A block that does not fit is replaced by another random one."""
    return block_map.built(rng, agents, lambda _: BlockSpec(_letter(rng)), blocks, lanes, lane_width_m, speed_limit_mps)


def _letter(rng: Rng) -> str:
    """A letter, drawn by its probability."""
    share, letters = float(rng.uniform(0.0, 1.0, 1)[0]), [letter for letter in BLOCKS if BLOCKS[letter].probability]
    for letter in letters:
        share -= BLOCKS[letter].probability
        if share < 0.0:
            return letter
    return letters[-1]
