"""How do tests write a PufferDrive `.bin` of a later layout? From entities of the early one, or field by field."""

from __future__ import annotations

import struct

from bin_writer import file_bytes, object_bytes, road_bytes, small_file

FRAMES = 4
RELEASES = {"3.0": "cd", "3.1": "a", "3.1 with lengths in the lane graph": "ac", "3.3": "ab"}
"""Which optional fields a layout has: a headings of roads, b lengths of lanes, c lengths of the lane graph, d the id of
the map."""


def ints(*values):
    return struct.pack(f"<{len(values)}i", *values)


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def listed(*values):
    return ints(len(values), *values)


# ---- November 2025 ----


def entity(early, number, is_object, further=0):
    """An early entity with an id and so many further arrays."""
    kind, count = struct.unpack_from("<ii", early)
    cut = 8 + 32 * count if is_object else 8
    return ints(0, kind, number, count) + early[8:cut] + floats(*[0.25] * (count * further)) + early[cut:]


def entities_of(early):
    """The objects and the roads of an early file."""
    (objects, roads), at, found = struct.unpack_from("<ii", early), 8, []
    for index in range(objects + roads):
        count = struct.unpack_from("<i", early, at + 4)[0]
        size = 36 + (32 if index < objects else 12) * count
        found.append(early[at : at + size])
        at += size
    return found[:objects], found[objects:]


def november_bytes(early, scenario_id=None, further=0, sdc=1, predicted=(2, 0), first_id=70):
    """An early file in the layout of November 2025, with ids from `first_id` on."""
    objects, roads = entities_of(early)
    numbered = [entity(part, first_id + index, index < len(objects), further if index < len(objects) else 0)
                for index, part in enumerate(objects + roads)]
    head = b"" if scenario_id is None else struct.pack("16s", scenario_id)
    return head + ints(sdc) + listed(*predicted) + ints(len(objects), len(roads)) + b"".join(numbered)


# ---- release 3 ----


def agent(index, has, kind=1, x=0.0, y=0.0, speed=2.0, heading=0.0, valid=(1,) * FRAMES, size=(4.5, 2.0, 1.5),
          route=(), goal=(30.0, 1.75), state=0):
    """A car that drives along +x; `size` is length, width, height, as in the file, at valid frames, else 0."""
    count = len(valid)
    sizes = [value if there else 0.0 for value in size for there in valid]
    xs = [x + 0.1 * speed * frame if valid[frame] else -10000.0 for frame in range(count)]
    tracks = [*xs, *[y] * count, *[100.0] * count, *[heading] * count, *[speed] * count, *[0.0] * count, *sizes]
    return (ints(index, kind, count) + floats(*tracks) + ints(*valid) + listed(*route)
            + (ints(len(route)) if "a" in has else b"") + floats(*goal, 100.0) + ints(state))


def road(index, has, kind, points, entries=(), exits=(), limit=13.5):
    count = len(points)
    columns = [*(x for x, _ in points), *(y for _, y in points), *[100.0] * count]
    made = ints(index, kind, count) + floats(*columns) + (floats(*[0.5] * count) if "a" in has else b"")
    if kind > 9:
        return made
    lengths = floats(9.0, *range(count)) if "b" in has else b""
    return made + listed(*entries) + listed(*exits) + floats(limit) + lengths


def control(index, kind=1, line=(8020.0, -5003.5, 100.0, 8020.0, -5000.0, 100.0), heading=0.0, states=(), lanes=(0,)):
    return ints(index, kind) + floats(*line, heading) + listed(*states) + listed(*lanes)


def cone(index, frames=FRAMES):
    return ints(index, 2, frames) + floats(*[1.0] * (9 * frames)) + ints(*[1] * frames)


def release_bytes(has, agents, roads, controls=(), objects=(), graph=(), scenario_id=b"5ca1ab1e", dataset=b"carla",
                  dt=0.1, interest=(), predicted=(), tails=b""):
    meta = struct.pack("128s", scenario_id) + (ints(7) if "d" in has else b"") + struct.pack("32s", dataset)
    lanes = ints(len(graph), *graph) + (floats(*[9.0] * len(graph)) if "c" in has else b"")
    return (ints(len(agents), len(roads), len(controls), len(objects))
            + b"".join([*agents, *roads, *controls, *objects]) + lanes + floats(*[1.5] * len(graph) ** 2) + meta
            + ints(FRAMES) + floats(dt) + listed(*interest) + listed(*predicted) + tails)


def small_release(name, tails=b"", **fields):
    """The traffic of `small_file` on its two lanes, with lights and signs."""
    has = RELEASES[name]
    agents = [agent(0, has, x=8000.0, y=-5001.75, goal=(8030.0, -5001.75), route=(0, 1)),
              agent(1, has, x=8010.0, y=-5001.75, goal=(8040.0, -5001.75), valid=(0, 1, 1, 0), state=1),
              agent(2, has, kind=2, x=8005.0, y=-5006.0, speed=1.0, size=(0.6, 0.7, 1.7), goal=(8008.0, -5006.0))]
    roads = [road(0, has, 2, [(7990.0, -5001.75), (8000.0, -5001.75), (8020.0, -5001.75)], exits=(1,)),
             road(1, has, 1, [(8020.0, -5001.75), (8060.0, -5001.75)], entries=(0,), limit=-1.0),
             road(2, has, 21, [(7990.0, -5004.0), (8060.0, -5004.0)]),
             road(3, has, 11, [(7990.0, -5000.0), (8060.0, -5000.0)]),
             road(4, has, 31, [(8021.0, -5004.0), (8023.0, -5004.0), (8023.0, -4996.0)]),
             road(5, has, 32, [(8030.0, -5004.0), (8031.0, -4996.0)])]
    controls = [control(0, states=(1, 3, 2, 4)), control(1, kind=2, lanes=(1,))]
    parts = {"controls": controls, "objects": [cone(0)], "graph": (0, 1), "interest": (1, 0), "predicted": (2,),
             **fields}
    return release_bytes(has, parts.pop("agents", agents), parts.pop("roads", roads), tails=tails, **parts)


def tails(phases=None, widths=None):
    """The optional sections: (junction, phase) of each control, and the widths of each point of each lane."""
    made = b"" if phases is None else b"TLPHASE1" + ints(*(number for pair in phases for number in pair))
    return made if widths is None else made + b"LANEWID1" + floats(*widths)


LATER = {
    "2025-11": november_bytes(small_file()),
    "2025-11 with a scenario id": november_bytes(small_file(), scenario_id=b"1c365f15b70ebdbf"),
    "2025-11 with further arrays": november_bytes(small_file(), further=5),
    "2025-11 with a scenario id and further arrays": november_bytes(small_file(), scenario_id=b"short", further=5),
    **{name: small_release(name) for name in RELEASES}}
"""The same traffic in every later layout."""

MAP = file_bytes([], [road_bytes(4, [(0.0, 0.0), (40.0, 0.0)])])
CAR = object_bytes()
