"""Within which limits must the numbers of a scene be? Those in the core's tables of the scene file."""

from __future__ import annotations

from ..binding import lib
from .file_layout import HEADER_FIELDS, KINDS

_NUMBERS = {field.name: field for field in HEADER_FIELDS}
_ARRAYS = {kind.name: kind for kind in KINDS}

COORDINATE_LIMIT_M = float(lib.DRV_COORDINATE_LIMIT_M)
"""Float32 coordinates of this size are 4 mm apart."""

SPEED_LIMIT_MPS = float(lib.DRV_SPEED_LIMIT_MPS)
SIZE_RANGE_M = (_ARRAYS["objects.length_m"].low, _ARRAYS["objects.length_m"].high)
DT_RANGE_S = (_NUMBERS["dt_s"].low, _NUMBERS["dt_s"].high)
HEADING_LIMIT_RAD = _ARRAYS["objects.heading_rad"].high
"""float32(pi), which is above pi; a heading of that value is allowed."""

OBJECT_LIMIT = lib.DRV_OBJECT_LIMIT
CONTROL_LIMIT = lib.DRV_TRAFFIC_CONTROL_LIMIT
CANDIDATE_LIMIT = lib.DRV_CANDIDATE_LIMIT
"""Of candidate goals."""

LISTED_GOAL_LIMIT = lib.DRV_LISTED_GOAL_LIMIT
"""Of goals in lists."""

FRAME_LIMIT = lib.DRV_FRAME_LIMIT
POINT_LIMIT = lib.DRV_POINT_LIMIT
"""Of roads, points, lane links and segments."""

CONTROL_STATE_LIMIT = 1 << 26
"""States of all traffic lights and signs of a file: a small one can claim a product of lights and frames that memory
cannot hold."""
