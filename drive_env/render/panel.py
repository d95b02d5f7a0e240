"""What do the bars of a picture show? Above: trial and clock. Below: a legend with counts, and a scale bar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import colours
from .canvas import Canvas, text_width
from .snapshot import Snapshot

TEXT_SHARE = 1 / 48
"""Height of text as a share of the picture's: 15 pixels at 720, 22 at 1080."""

MIN_TEXT_PX, MAX_TEXT_PX = 10, 32

MAX_TRIAL_BOXES = 16
"""Episodes of more trials have no boxes."""

BAR_LENGTHS_M = (1, 2, 5, 10, 20, 50, 100, 200, 500)
BAR_SHARE = 0.12
"""The scale bar has the longest of these lengths that is within this share of the picture's width."""

AGENT_STATES = (colours.DRIVING, colours.GOAL, colours.COLLISION, colours.OFFROAD, colours.TIMEOUT)
OTHER_STATES = (colours.LOG_REPLAY, colours.RULE_BASED, colours.STATIC)
STATE_TEXT = dict(enumerate(colours.STATE_NAMES)) | {colours.OFFROAD: "off-road"}
COPLAYER_TEXT = "co-player"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the bars and their text, in pixels.

    Attributes:
        text: height of the text. gap: between two parts. line: height of a line of text.
        top, bottom: heights of the bars.
    """

    text: int
    gap: int
    line: int
    top: int
    bottom: int


NO_BARS = {"top": 0, "bottom": 0}
"""Heights of the bars in a picture without bars, px."""


def panel_sizes(width: int, height: int, coplayers: bool = False) -> Sizes:
    """Legible sizes; narrow pictures get a second line in the bottom bar, whose legend may have co-players."""
    text = int(np.clip(round(min(height, width * 9 / 16) * TEXT_SHARE), MIN_TEXT_PX, MAX_TEXT_PX))
    line = round(1.7 * text)
    shown = (*AGENT_STATES, *OTHER_STATES)
    labels = [*(STATE_TEXT[state] for state in shown), *[COPLAYER_TEXT] * coplayers]
    longest = sum(text_width(f"{label} 00", text) + 2.4 * text for label in labels)
    lines = max(1, int(np.ceil(longest / (width - 2 * text))))
    return Sizes(text=text, gap=text, line=line, top=line, bottom=line * lines)


def draw_top(canvas: Canvas, sizes: Sizes, snapshot: Snapshot, title: str,
             goal_shares: list[float | None]) -> None:
    """Draws the title, the trial from 1, a box per trial that fills with the share of goals, and the trial's clock.

    Args:
        goal_shares: of each trial up to this one, from 0 to 1; None for a trial without a frame.
    """
    width, text, gap = canvas.picture.shape[1], sizes.text, sizes.gap
    canvas.bar(0, 0, width, sizes.top, colours.PAPER)
    middle = sizes.top / 2
    dt_s, trial_steps = snapshot.roles.dt_s, snapshot.roles.trial_steps
    clock = f"{snapshot.steps * dt_s:.1f} of {trial_steps * dt_s:.1f} s"
    trial_text = f"trial {snapshot.trial + 1} of {snapshot.max_trials}"
    boxes = snapshot.max_trials if 1 < snapshot.max_trials <= MAX_TRIAL_BOXES else 0
    box = round(0.95 * text)

    # From the right: the clock as text, then as a bar.
    clock_left = width - gap - text_width("000.0 of 000.0 s", text)
    canvas.text(width - gap, middle, clock, text, colours.INK, align=1.0)
    bar_left = clock_left - gap - 7 * text
    canvas.bar(bar_left, middle - 0.2 * text, bar_left + 7 * text, middle + 0.2 * text, colours.ASPHALT)
    share = min(snapshot.steps / trial_steps, 1.0)
    canvas.bar(bar_left, middle - 0.2 * text, bar_left + share * 7 * text, middle + 0.2 * text, colours.INK)

    # Left of it the trial and its boxes, then the title if it fits.
    trial_left = bar_left - 2 * gap - boxes * (box + 2) - gap - text_width(trial_text, text)
    end = canvas.text(trial_left, middle, trial_text, text, colours.INK) + gap
    for trial in range(boxes):
        left = end + trial * (box + 2)
        _draw_box(canvas, left, middle, box, trial == snapshot.trial,
                  goal_shares[trial] if trial < len(goal_shares) else None)
    if text_width(title, text) + 2 * gap < trial_left:
        canvas.text(gap, middle, title, text, colours.INK)


def _draw_box(canvas, left, middle, box, is_current, share):
    low, high = middle - box / 2, middle + box / 2
    canvas.bar(left, low, left + box, high, colours.INK if is_current else colours.FAINT)
    canvas.bar(left + 1, low + 1, left + box - 1, high - 1, colours.PAPER)
    if share is not None:
        full = high - 1 - share * (box - 2)
        canvas.bar(left + 1, full, left + box - 1, high - 1, colours.STATE_COLOURS[colours.GOAL])


def draw_bottom(canvas: Canvas, sizes: Sizes, snapshot: Snapshot, pixels_per_m: float) -> None:
    """Draws the legend with its counts, and a scale bar.

    The counts are of agents by state, on the map or not, then of other vehicles on the map.
    """
    height, width = canvas.picture.shape[:2]
    text = sizes.text
    canvas.bar(0, height - sizes.bottom, width, height, colours.PAPER)
    roles = snapshot.roles
    # Count vehicles by state, then co-players, whose symbol has the stripe of their roofs.
    counts = [(state, STATE_TEXT[state], int((snapshot.agent_state == state).sum())) for state in AGENT_STATES]
    others, on_map = snapshot.state[roles.num_agents :], snapshot.present[roles.num_agents :]
    counts += [(state, STATE_TEXT[state], int(on_map[others == state].sum()))
               for state in OTHER_STATES if (others == state).any()]
    if snapshot.coplayer.any():
        counts.append((colours.DRIVING, COPLAYER_TEXT, int(snapshot.coplayer.sum())))
    drives = snapshot.agent_state == colours.DRIVING
    mean_mps = float(snapshot.speed_mps[: roles.num_agents][drives].mean()) if drives.any() else 0.0

    # Write the legend, in as many lines as it needs.
    x, y = float(text), height - sizes.bottom + sizes.line / 2
    for state, name, count in counts:
        label = f"{name} {count}"
        if x + 1.3 * text + text_width(label, text) > width:
            x, y = float(text), y + sizes.line
        canvas.bar(x, y - 0.42 * text, x + 0.84 * text, y + 0.42 * text, colours.STATE_COLOURS[state])
        if name == COPLAYER_TEXT:
            canvas.bar(x, y - 0.14 * text, x + 0.84 * text, y + 0.14 * text, colours.INK)
        x = canvas.text(x + 1.2 * text, y, label, text, colours.INK) + 1.2 * text
    speed = f"mean {mean_mps:.1f} m/s"
    if x + text_width(speed, text) < width:
        x = canvas.text(x, y, speed, text, colours.FAINT)

    # Draw the scale bar, if it fits.
    bar_m = max((length for length in BAR_LENGTHS_M if length * pixels_per_m < BAR_SHARE * width), default=0)
    label, right = f"{bar_m} m", width - sizes.gap
    left = right - bar_m * pixels_per_m
    if bar_m and x + sizes.gap + text_width(label, text) < left - 0.5 * text:
        canvas.text(left - 0.5 * text, y, label, text, colours.FAINT, align=1.0)
        canvas.bar(left, y - 1, right, y + 1, colours.FAINT)
        for end in (left, right):
            canvas.bar(end - 1, y - 0.35 * text, end + 1, y + 0.35 * text, colours.FAINT)
