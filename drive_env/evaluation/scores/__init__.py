"""How well did one vehicle drive? Scores of nuPlan, V-Max, Bench2Drive, CommonRoad and Waymax, from recorded poses.

They take plain arrays, so drives of other simulators can be scored, too.
"""

from .all_scores import SCORES, Score, km_per_infraction, score_driven
from .bench2drive import Bench2DriveScore, bench2drive_score
from .comfort import COMFORT_BOUNDS, ComfortSignals, comfort_signals
from .commonroad import CommonRoadCosts, commonroad_costs
from .driven_scene import DrivenMap, DrivenScene
from .driven_trial import driven_scene, driven_trial
from .faults import Collision, collisions
from .nuplan import NuplanScore, nuplan_score
from .vmax import VmaxScore, vmax_score
from .waymax import StepMetric, WaymaxMetrics, waymax_metrics

__all__ = ["COMFORT_BOUNDS", "SCORES", "Bench2DriveScore", "Collision", "ComfortSignals", "CommonRoadCosts",
           "DrivenMap", "DrivenScene", "NuplanScore", "Score", "StepMetric", "VmaxScore", "WaymaxMetrics",
           "bench2drive_score", "collisions", "comfort_signals", "commonroad_costs", "driven_scene", "driven_trial",
           "km_per_infraction", "nuplan_score", "score_driven", "vmax_score", "waymax_metrics"]
