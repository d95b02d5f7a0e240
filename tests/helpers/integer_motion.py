"""How do the cars of integer_scenes.py move, and which events does a step have? In whole numbers, without the core."""

from __future__ import annotations

from integer_scenes import COAST, FASTEST, GOAL_RADIUS, GOAL_SPACING, LANE_END
from oracle import NOTHING, Facts


def _overlap(a, b, at_a, at_b):
    """Whether two cars of one lane overlap; their lengths add up to a whole number plus a half."""
    return 2 * abs(at_a - at_b) <= a.length + b.length + 1


def _overlap_between(a, b, gap_before, gap_after):
    """Whether two cars of one lane overlap while the gap, a's position minus b's, changes from one value to another."""
    if gap_before * gap_after <= 0:
        return True
    return 2 * min(abs(gap_before), abs(gap_after)) <= a.length + b.length + 1


class Motion:
    """The cars of one world of a stage, moved in whole numbers.

    max_goals: the number of goals of a car: those of its list, or without a list, each GOAL_SPACING further along the
        lane than the one before.
    """

    def __init__(self, stage, max_goals=1):
        self.stage = stage
        self.max_goals = max_goals
        self.cars = stage.agents + stage.static_vehicles
        self.restart()

    def restart(self):
        self.at = [car.at for car in self.cars]
        self.speed = [car.speed for car in self.cars]
        self.goal = [car.goal for car in self.stage.agents]
        self.goals_reached = [0] * len(self.stage.agents)

    def advance(self, pushes, drives, on_map):
        """Moves the driving agents one step and returns the facts of every agent, judged from that one snapshot.

        pushes: one acceleration bin (0 .. 6) an agent; those of agents that do not drive are not read.
        drives, on_map: one bool an agent, as they are before the step.
        """
        # positions
        num_agents = len(self.stage.agents)
        before = list(self.at)
        for r in range(num_agents):
            if drives[r]:
                self.speed[r] = min(max(self.speed[r] + pushes[r] - COAST, 0), FASTEST)
                self.at[r] += self.speed[r]
        # facts
        present = [*on_map[:num_agents], *([True] * len(self.stage.static_vehicles))]
        facts = []
        for r in range(num_agents):
            if not drives[r]:
                facts.append(NOTHING)
                continue
            goal_onset = self._goal_onset(r, before[r])
            facts.append(Facts(
                goal=goal_onset,
                collision=self._collision_onset(r, before, present),
                offroad=self._offroad_onset(r, before[r]),
                goal_follows=goal_onset and self._set_next_goal(r),
                has_last_goal=len(self.stage.agents[r].further) > 0 and not self.stage.agents[r].repeats,
            ))
        return facts

    def _goal_onset(self, r, before):
        return before - GOAL_RADIUS <= self.goal[r] + 0.5 <= self.at[r] + GOAL_RADIUS

    def _set_next_goal(self, r):
        car = self.stage.agents[r]
        following, exists = self.goal[r] + GOAL_SPACING, self.goal[r] + GOAL_SPACING < LANE_END
        self.goals_reached[r] += 1
        if car.further:
            goals = (car.goal, *car.further)
            exists = car.repeats or self.goals_reached[r] < len(goals)
            following = goals[self.goals_reached[r] % len(goals)]
        if not exists or self.goals_reached[r] >= self.max_goals:
            return False
        self.goal[r] = following
        return True

    def _offroad_onset(self, r, before):
        car = self.cars[r]
        half = (car.length + 0.5) / 2
        onset = False
        for wall in self.stage.walls:
            if wall.lane == car.lane:
                wall_at = wall.at + 0.5
                overlapped_before = abs(wall_at - before) <= half
                onset |= not overlapped_before and before - half <= wall_at <= self.at[r] + half
        return onset

    def _collision_onset(self, r, before, present):
        car = self.cars[r]
        for other_index, other in enumerate(self.cars):
            if other_index == r or other.lane != car.lane or not present[other_index]:
                continue
            if _overlap(car, other, before[r], before[other_index]):
                continue
            gaps = before[r] - before[other_index], self.at[r] - self.at[other_index]
            if _overlap_between(car, other, *gaps):
                return True
        return False
