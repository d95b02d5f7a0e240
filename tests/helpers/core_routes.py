"""How do tests find a route in a scene without a batch? In the core's scene of all its objects."""

from __future__ import annotations

from functools import lru_cache

from drive_env import DriveConfig
from drive_env.native import native_scene
from drive_env.roles import assign_roles
from drive_env.routes import lane_route


@lru_cache(maxsize=4)
def with_lanes(scene):
    """The core's scene, with its lane graph."""
    return native_scene(assign_roles(scene, DriveConfig(control="all")), lane_graph=True)


def core_route(scene, start_xy, start_heading, goal_xy):
    """`drive_env.routes.lane_route` on a `Scene`."""
    return lane_route(with_lanes(scene), start_xy, start_heading, goal_xy)
