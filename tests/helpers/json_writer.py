"""How do tests write a GPUDrive or an old Nocturne JSON? Field by field, from the description of the format."""

from __future__ import annotations

import json
import math

FRAMES = 4
SENTINEL = -10000.0


def car(kind="vehicle", x=0.0, y=0.0, speed=2.0, heading=0.0, valid=(True,) * FRAMES, goal=(30.0, 1.75), **fields):
    """An object that moves along its heading at `speed`; `fields` replace or add fields."""
    track = [(x + 0.1 * speed * math.cos(heading) * frame, y + 0.1 * speed * math.sin(heading) * frame)
             for frame in range(len(valid))]
    made = {
        "position": [{"x": at[0], "y": at[1], "z": 9.5} if there else {"x": SENTINEL, "y": SENTINEL, "z": SENTINEL}
                     for at, there in zip(track, valid, strict=True)],
        "width": 2.0, "length": 4.5, "height": 1.5,
        "heading": [heading if there else SENTINEL for there in valid],
        "velocity": [{"x": speed * math.cos(heading), "y": speed * math.sin(heading)} if there
                     else {"x": SENTINEL, "y": SENTINEL} for there in valid],
        "valid": list(valid), "goalPosition": {"x": goal[0], "y": goal[1], "z": 9.5}, "type": kind, "id": 1,
        "mark_as_expert": False}
    return {**made, **fields}


def road(kind, element, points, **fields):
    return {"geometry": [{"x": x, "y": y, "z": 9.5} for x, y in points], "type": kind, "map_element_id": element,
            "id": 1, **fields}


def light(*words, x=8002.0, y=-5001.75, frames=None):
    """The log of a lane's light: its states in these frames, else from the first on, at one stop point."""
    count = len(words)
    return {"state": list(words), "x": [x] * count, "y": [y] * count,
            "time_index": list(range(count)) if frames is None else frames}


def small_document():
    """Two cars and a pedestrian, far from the origin, on two lanes that follow each other, the first with a light."""
    objects = [car(x=8000.0, y=-5001.75, goal=(8030.0, -5001.75), id=70),
               car(x=8010.0, y=-5001.75, goal=(8040.0, -5001.75), valid=(False, True, True, False),
                   id=71, mark_as_expert=True),
               car("pedestrian", x=8005.0, y=-5006.0, speed=1.0, goal=(8008.0, -5006.0), width=0.7, length=0.6,
                   height=1.7, id=72)]
    roads = [road("lane", 2, [(7990.0, -5001.75), (8000.0, -5001.75), (8020.0, -5001.75)], id=4),
             road("lane", 1, [(8020.0, -5001.75), (8060.0, -5001.75)], id=5),
             road("road_edge", 15, [(7990.0, -5004.0), (8060.0, -5004.0)], id=6),
             road("road_line", 7, [(7990.0, -5000.0), (8060.0, -5000.0)], id=8),
             road("stop_sign", 17, [(8020.0, -5003.5)], id=9),
             road("crosswalk", 18, [(8021.0, -5004.0), (8023.0, -5004.0), (8023.0, -4996.0)], id=10),
             road("speed_bump", 19, [(8030.0, -5004.0), (8031.0, -4996.0)], id=11),
             road("driveway", 20, [(8050.0, -5004.0), (8050.0, -5010.0)], id=12)]
    return {"name": "small.json", "scenario_id": "5ca1ab1e", "objects": objects, "roads": roads,
            "tl_states": {"4": light("go", "caution", frames=[0, 2])},
            "metadata": {"sdc_track_index": 0, "objects_of_interest": [72, 70],
                         "tracks_to_predict": [{"track_index": 2, "difficulty": 0}]}}


def old_document():
    """The same traffic as Nocturne wrote it: degrees beyond half a turn, without later fields."""
    def flat(point):
        return {"x": point["x"], "y": point["y"]}

    newer = small_document()
    objects = [{"position": [flat(at) for at in entry["position"]], "width": entry["width"],
                "length": entry["length"],
                "heading": [math.degrees(at) - 360.0 if at != SENTINEL else SENTINEL for at in entry["heading"]],
                "velocity": entry["velocity"], "valid": entry["valid"], "goalPosition": flat(entry["goalPosition"]),
                "type": entry["type"]} for entry in newer["objects"]]
    roads = [{"geometry": [flat(at) for at in entry["geometry"]], "type": entry["type"]} for entry in newer["roads"]]
    return {"name": "small.json", "objects": objects, "roads": roads, "tl_states": {}}


def json_bytes(document) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def small_json() -> bytes:
    return json_bytes(small_document())
