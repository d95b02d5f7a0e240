"""Of which blocks are maps composed? Each has a letter: MetaDrive's, where it has such a block."""

from __future__ import annotations

from . import junctions, lane_counts, ramps, straights
from .block import Block, BlockKind, RoadKind, Socket

BLOCKS: dict[str, BlockKind] = {
    letter: {**straights.KINDS, **ramps.KINDS, **lane_counts.KINDS, **junctions.KINDS}[letter]
    for letter in "SCrRXTOyY$P"}
"""By letter. The probabilities add up to 1."""

__all__ = ["BLOCKS", "Block", "BlockKind", "RoadKind", "Socket"]
