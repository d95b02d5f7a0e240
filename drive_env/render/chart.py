"""How are a scene and the metrics of a run plotted? By matplotlib, in the format of the path's extension."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np

from ..config import ConfigSource, checked_config
from ..errors import ConfigError, SceneError, checked_path, value_text
from ..roles import Roles, assign_roles
from ..scenes.scene import CONTROL_KIND_CODES, LIGHT_STATE_CODES, ROAD_KIND_CODES, Scene
from . import colours
from .extensions import CHART_EXTENSIONS
from .extra import need
from .ground import UNKNOWN_WIDTH_M
from .traffic import BODY, placed_shape

DOTS_PER_INCH = 150
LONG_SIDE_INCHES = 13.0
LABELS_INCHES = 1.0
"""What the title and the labels of the axes add to either side of a plot."""

BOX_MARGIN_M = 5.0
"""Space around all points of a scene, about the length of a vehicle that starts at the border."""

GOAL_HEADING_M = 4.0
"""Length of the line that shows the heading of a goal, about that of a vehicle."""

MIN_SIDE_SHARE = 0.4
"""The shorter side of a plot of a scene is at least this share of the longer one."""

LINE_STYLES = {  # kind: colour, points wide
    "driveway": (colours.DRIVEWAY, 0.8),
    "line": (colours.FAINT, 0.5),
    "speed_bump": (colours.SPEED_BUMP, 2.0),
    "edge": (colours.INK, 0.9),
    "crosswalk": (colours.STATE_COLOURS[colours.TIMEOUT], 0.7),
}

LANE_INK = (90, 105, 200)
"""A colour that no road marking has."""

STOP_LINE_POINTS = 2.5

SINGLE_POINT_AREA = 4.0
"""Of the dot of a road of one point, in square points."""

CONTROL_STYLES = {  # kind: label, colour of the line, marker, colour of the marker
    "light": ("traffic lights", colours.LIGHT_COLOURS[LIGHT_STATE_CODES["red"]], None, None),
    "stop": ("stop signs", colours.SIGN_LINE, "8", colours.STOP_SIGN),
    "yield": ("yield signs", colours.SIGN_LINE, "v", colours.YIELD_SIGN),
}

ROLES = (("agents", colours.DRIVING), ("log-replay vehicles", colours.LOG_REPLAY),
         ("rule-based vehicles", colours.RULE_BASED), ("static vehicles", colours.STATIC))


def plot_scene(scene: Scene, path: str | os.PathLike, config: ConfigSource | None = None) -> None:
    """Plots a scene: map by kind, lane graph, lights and signs, starts with headings, goals, logged tracks, scripts.

    Every lane has an arrow in its direction; a cross marks the end of a lane without successors. Starts, goals and
    tracks have the colour of the object's role under the config; without a config, a scene in which nothing could
    drive, such as a map alone, is plotted without roles. Stop lines of lights are red, whatever these show.
    Objects with scripts have the names of their options beside them, and their lines are dashed, as are the circles of
    candidate goals.

    Args:
        scene: any valid scene.
        path: ends in .png, .svg or .pdf.
        config: assigns the roles; None: the defaults.

    Raises:
        ConfigError, SceneError: the path has another extension, or the config does not fit the scene.
        MissingExtraError: the packages of the extra `render` are not installed.
    """
    path = checked_path(path, CHART_EXTENSIONS)
    if not isinstance(scene, Scene):
        raise ConfigError(f"scene is {value_text(scene)}; it must be a Scene, see load_scene and generate_scene")
    roles = _roles(scene, config)
    low, high = _box(scene, roles)
    inches = LONG_SIDE_INCHES * (high - low) / (high - low).max()
    figure = need("matplotlib.figure").Figure(figsize=inches + LABELS_INCHES)
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_facecolor(_rgb(colours.LAND))
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x, m", ylabel="y, m")
    axes.set_title(f"{scene.name}: {scene.roads.count} roads, {scene.objects.count} objects x "
                   f"{scene.objects.frame_count} frames of {scene.dt_s:g} s")
    _plot_roads(axes, scene)
    _plot_lanes(axes, scene)
    _plot_controls(axes, scene)
    if roles is None:
        _plot_group(axes, scene.objects, scene.objects, "objects", colours.STATIC, np.arange(scene.objects.count))
    else:
        _plot_objects(axes, roles)
        _plot_scripts(axes, roles)
    _plot_candidates(axes, scene, checked_config(config).goal_radius_m)
    if scene.roads.count or scene.objects.count:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    figure.savefig(path, dpi=DOTS_PER_INCH, bbox_inches="tight")


def plot_metrics(history: Sequence[dict], path: str | os.PathLike) -> None:
    """Plots the metrics of a run as curves: outcomes, scores by trial, motion, reward.

    Args:
        history: reports of `Batch.metrics()` in chronological order, or dicts of numbers by name.
        path: ends in .png, .svg or .pdf.

    Raises:
        ConfigError: the history is empty, or the path has another extension.
        MissingExtraError: the packages of the extra `render` are not installed.
    """
    path = checked_path(path, CHART_EXTENSIONS)
    if not isinstance(history, (list, tuple)) or not history or not all(isinstance(one, dict) for one in history):
        raise ConfigError(f"history is {value_text(history)}; it must be a list of at least one report of metrics")
    # One curve per name, over the trials if they are counted.
    names = list(dict.fromkeys(name for report in history for name in report))
    curves = {name: np.array([_value(report.get(name)) for report in history]) for name in names}
    x = curves.pop("trials", np.arange(len(history), dtype=float))
    panels = _panels(list(curves))
    rows = -(-len(panels) // 2)
    figure = need("matplotlib.figure").Figure(figsize=(11.0, 3.0 * rows), layout="constrained")
    grid = figure.subplots(rows, 2, squeeze=False)
    # One panel per group of curves that share a unit.
    for axes, (title, members) in zip(grid.flat, panels.items(), strict=False):
        for number, name in enumerate(members):
            style = _curve_style(name, number, len(members), len(history))
            axes.plot(x, curves[name], label=name, **style)
        axes.set_title(title)
        axes.set_xlabel("trials" if "trials" in names else "report")
        axes.grid(color=_rgb(colours.ASPHALT), linewidth=0.6)
        axes.legend(fontsize=8, frameon=False)
    # The last row may have one panel too many.
    for axes in list(grid.flat)[len(panels) :]:
        axes.set_visible(False)
    figure.savefig(path, dpi=DOTS_PER_INCH)


# ---- the scene ----


def _roles(scene, config):
    """The roles under the config; None without a config, if nothing could drive under the default one."""
    try:
        return assign_roles(scene, checked_config(config))
    except SceneError:
        if config is not None:
            raise
        return None


def _box(scene, roles):
    frames = scene.objects if roles is None else roles.frames
    points = [np.stack([scene.roads.x_m, scene.roads.y_m], axis=1),
              np.stack([frames.x_m[frames.valid], frames.y_m[frames.valid]], axis=1), scene.candidate_goals_m]
    if roles is not None:
        points += [scene.objects.goal_m[roles.objects[: roles.num_agents]], roles.goal_lists.goal_m]
    everything = np.concatenate(points) if any(map(len, points)) else np.zeros((1, 2))
    low, high = everything.min(axis=0) - BOX_MARGIN_M, everything.max(axis=0) + BOX_MARGIN_M
    # Limit the aspect ratio: a single straight road would give an extremely wide picture.
    padding = np.maximum(MIN_SIDE_SHARE * (high - low).max() - (high - low), 0.0)
    return low - padding / 2, high + padding / 2


def _lines_of(scene, kind):
    roads = scene.roads
    return [np.stack([roads.x_m[first:last], roads.y_m[first:last]], axis=1)
            for road, first, last in zip(range(roads.count), roads.start[:-1], roads.start[1:], strict=True)
            if roads.kind[road] == ROAD_KIND_CODES[kind]]


def _plot_roads(axes, scene):
    for kind, (colour, width) in LINE_STYLES.items():
        _plot_lines(axes, _lines_of(scene, kind), kind.replace("_", " "), colour, width)
    signs = [line[0] for line in _lines_of(scene, "stop_sign")]
    if signs:
        axes.scatter(*np.array(signs).T, s=18, marker="8", color=_rgb(colours.STOP_SIGN), zorder=3,
                     label=f"stop sign {len(signs)}")


def _plot_lines(axes, lines, name, colour, width, extra="", alpha=None):
    """Roads of one kind, those of a single point as dots; the label counts all of them."""
    if not lines:
        return
    axes.add_collection(need("matplotlib.collections").LineCollection(
        [line for line in lines if len(line) > 1], colors=[_rgb(colour)], linewidths=width, alpha=alpha, zorder=2,
        label=f"{name} {len(lines)}{extra}"))
    dots = [line[0] for line in lines if len(line) == 1]
    if dots:
        axes.scatter(*np.array(dots).T, s=SINGLE_POINT_AREA, color=[_rgb(colour)], linewidths=0, alpha=alpha, zorder=2)


def _plot_lanes(axes, scene):
    roads = scene.roads
    middles, directions, ends = [], [], []
    lanes = np.flatnonzero(roads.kind == ROAD_KIND_CODES["lane"])
    # Middle and direction of every lane that has one, and its end if it has no successors.
    for lane in lanes.tolist():
        points = np.stack([roads.x_m, roads.y_m], axis=1)[roads.start[lane] : roads.start[lane + 1]]
        if len(points) < 2:
            continue
        step = np.diff(points, axis=0)
        arc_m = np.cumsum(np.hypot(*step.T))
        segment = int(np.searchsorted(arc_m, arc_m[-1] / 2))
        middles.append((points[segment] + points[segment + 1]) / 2)
        directions.append(step[segment] / max(float(np.hypot(*step[segment])), 1e-6))
        if not len(scene.lanes.after(lane)):
            ends.append(points[-1])
    _plot_lines(axes, _lines_of(scene, "lane"), "lane", LANE_INK, 0.7,
                extra=f", successors {len(scene.lanes.successor)}", alpha=0.7)
    if not middles:
        return
    # Arrows of a lane's width, crosses at dead ends.
    width_m = float(np.median(roads.width_m[lanes])) or UNKNOWN_WIDTH_M
    axes.quiver(*np.array(middles).T, *np.array(directions).T, color=_rgb(LANE_INK), angles="xy", units="xy",
                scale_units="xy", scale=1 / width_m, width=0.08 * width_m, headwidth=6, headlength=6,
                pivot="mid", zorder=2)
    if ends:
        axes.scatter(*np.array(ends).T, s=22, marker="x", linewidths=1.0, color=_rgb(colours.STOP_SIGN),
                     zorder=3, label=f"lane ends {len(ends)}")


def _plot_objects(axes, roles: Roles):
    bounds = np.cumsum([0, roles.num_agents, roles.log_replay_count, roles.rule_based_count, roles.static_count])
    for (role, state), first, last in zip(ROLES, bounds[:-1], bounds[1:], strict=True):
        start_m = _plot_group(axes, roles.frames, roles.scene.objects, role, state, roles.objects[first:last])
        if role == "agents":
            _plot_goals(axes, roles, start_m, _rgb(colours.STATE_COLOURS[state]))


def _plot_group(axes, frames, objects, label, state, members):
    """Logged tracks of some objects, and boxes at the start with a line ahead; returns (n, 2), where they start, m."""
    collections, colour = need("matplotlib.collections"), _rgb(colours.STATE_COLOURS[state])
    if not len(members):
        return np.zeros((0, 2))
    tracks = [np.stack([frames.x_m[valid, item], frames.y_m[valid, item]], axis=1)
              for item in members.tolist() if (valid := frames.valid[:, item]).sum() > 1]
    axes.add_collection(collections.LineCollection(
        tracks, colors=[colour], linewidths=1.2, alpha=0.5, zorder=4))
    start = frames.valid[:, members].argmax(axis=0)
    xy_m = np.stack([frames.x_m[start, members], frames.y_m[start, members]], axis=1)
    heading_rad = frames.heading_rad[start, members]
    size_m = np.stack([objects.length_m[members], objects.width_m[members]], axis=1)
    axes.add_collection(collections.PolyCollection(
        placed_shape(BODY, xy_m, heading_rad, size_m), facecolors=[colour],
        edgecolors=[_rgb(colours.INK)], linewidths=0.4, zorder=5, label=f"{label} {len(members)}"))
    ahead_m = np.stack([np.cos(heading_rad), np.sin(heading_rad)], axis=1) * size_m[:, :1]
    axes.add_collection(collections.LineCollection(
        np.stack([xy_m, xy_m + ahead_m], axis=1), colors=[_rgb(colours.INK)], linewidths=0.8, zorder=6))
    return xy_m


def _plot_goals(axes, roles: Roles, start_m: np.ndarray, colour: tuple[float, ...]) -> None:
    """The goals of all agents and the order in which these have them; a line shows the heading of one with its own."""
    # Lines from the start to the goal, and from there along the list.
    objects, lists, members = roles.scene.objects, roles.goal_lists, roles.objects[: roles.num_agents]
    goals_m, collections = objects.goal_m[members], need("matplotlib.collections")
    ways_m = [np.concatenate([start_m[agent : agent + 1], goals_m[agent : agent + 1],
                              lists.goal_m[lists.start[agent] : lists.start[agent + 1]]])
              for agent in range(roles.num_agents)]
    axes.scatter(*np.concatenate([goals_m, lists.goal_m]).T, s=30, marker="o", facecolors="none", edgecolors=[colour],
                 zorder=5, label="goals")
    axes.add_collection(collections.LineCollection(ways_m, colors=[colour], linewidths=0.4, alpha=0.35, zorder=4))
    # Headings.
    at_m = np.concatenate([goals_m, lists.goal_m])
    heading_rad = np.concatenate([objects.goal_heading_rad[members], lists.goal_heading_rad])
    has_one = ~np.isnan(heading_rad)
    ahead_m = GOAL_HEADING_M * np.stack([np.cos(heading_rad), np.sin(heading_rad)], axis=1)[has_one]
    axes.add_collection(collections.LineCollection(
        np.stack([at_m[has_one], at_m[has_one] + ahead_m], axis=1), colors=[colour], linewidths=1.2, zorder=5))


def _plot_controls(axes, scene):
    controls = scene.traffic_controls
    for kind, (label, colour, marker, fill) in CONTROL_STYLES.items():
        lines = controls.line_m[controls.kind == CONTROL_KIND_CODES[kind]].reshape(-1, 2, 2)
        if not len(lines):
            continue
        axes.add_collection(need("matplotlib.collections").LineCollection(
            lines, colors=[_rgb(colour)], linewidths=STOP_LINE_POINTS, zorder=3, label=f"{label} {len(lines)}"))
        if marker:
            axes.scatter(*lines[:, 1].T, s=36, marker=marker, color=[_rgb(fill)], edgecolors=[_rgb(colour)], zorder=4)


def _plot_candidates(axes, scene, radius_m):
    places = scene.candidate_goals_m
    if len(places):
        patches = need("matplotlib.patches")
        axes.add_collection(need("matplotlib.collections").PatchCollection(
            [patches.Circle(place, radius_m) for place in places], facecolors="none", edgecolors=[_rgb(colours.SCRIPT)],
            linestyles="dashed", linewidths=1.2, zorder=5, label=f"candidate goals {len(places)}"))


def _plot_scripts(axes, roles: Roles):
    scripts, frames = roles.scripts, roles.frames
    if not len(scripts.vehicle):
        return
    # Several scripts may share a line.
    lines = np.unique(scripts.line_m, axis=0).reshape(-1, 2, 2)
    axes.add_collection(need("matplotlib.collections").LineCollection(
        lines, colors=[_rgb(colours.SCRIPT)], linestyles="dashed", linewidths=1.6, zorder=5,
        label=f"script lines {len(lines)}, scripts {len(scripts.vehicle)}"))
    # One text per place: objects of different options often start at the same one.
    options: dict[tuple, list[int]] = {}
    for vehicle, group, option in zip(scripts.vehicle, scripts.group, scripts.option, strict=True):
        item = roles.objects[vehicle]
        start = frames.valid[:, item].argmax()
        place = float(frames.x_m[start, item]), float(frames.y_m[start, item])
        options.setdefault((place, int(group)), []).append(int(option))
    for (place, group), found in options.items():
        text = f"group {group}, option{'s' * (len(found) > 1)} {', '.join(map(str, sorted(found)))}"
        axes.annotate(text, place, xytext=(4, 5), textcoords="offset points", fontsize=7, color=_rgb(colours.SCRIPT),
                      zorder=7)


# ---- the metrics ----


def _panels(names):
    """Titles and the curves that share a unit, in the order of `names`."""
    rates = ("score", "goal", "collision", "offroad", "timeout")
    panels = {"share of trials": [name for name in names if name in rates],
              "score by trial": [name for name in names if re.fullmatch(r"trial_\d+_score", name)],
              "score above that of the first trial": [name for name in names if name.startswith("ada_delta_")],
              "reward": [name for name in names if name.startswith("reward")]}
    grouped = {name for members in panels.values() for name in members}
    panels |= {name: [name] for name in names if name not in grouped}
    return {title: members for title, members in panels.items() if members}


def _curve_style(name, number, count, points):
    style = {"linewidth": 1.6, "marker": "o" if points < 30 else None, "markersize": 3}
    event = name.removeprefix("reward_")
    if event in colours.STATE_NAMES:
        # Slightly darker, since yellow is invisible on white.
        colour = colours.mixed(colours.STATE_COLOURS[colours.STATE_NAMES.index(event)], colours.INK, 0.85)
    elif name in ("score", "reward"):
        colour = colours.INK
    else:
        # Later trials are darker: one hue ordered by lightness is legible to colour-blind readers, too.
        share = 0.25 + 0.75 * (number + 1) / count
        colour = colours.mixed(colours.STATE_COLOURS[colours.DRIVING], colours.PAPER, share)
    return style | {"color": _rgb(colour)}


def _value(metric):
    """A `MetricValue`, a number or None, as a float."""
    return float("nan") if metric is None else float(getattr(metric, "value", metric))


def _rgb(colour):
    return tuple(channel / 255 for channel in colour)
