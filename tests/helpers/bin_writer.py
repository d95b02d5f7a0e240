"""How do tests write a PufferDrive `.bin` of the early layout? Field by field, from the description of the format."""

from __future__ import annotations

import struct

FRAMES = 4


def object_bytes(kind=1, frames=FRAMES, x=0.0, y=0.0, speed=2.0, side_speed=0.0, heading=0.0, valid=None,
                 size=(2.0, 4.5, 1.5), goal=(30.0, 1.75), expert=0):
    """A car that drives along +x at `speed`; `size` is width, length, height, as in the file."""
    valid = [1] * frames if valid is None else valid
    xs = [x + 0.1 * speed * frame if valid[frame] else -10000.0 for frame in range(frames)]
    columns = [xs, [y] * frames, [100.0] * frames, [speed] * frames, [side_speed] * frames, [0.0] * frames,
               [heading] * frames]
    floats = [value for column in columns for value in column]
    return (struct.pack("<ii", kind, frames) + struct.pack(f"<{7 * frames}f", *floats)
            + struct.pack(f"<{frames}i", *valid) + struct.pack("<6fi", *size, *goal, 100.0, expert))


def road_bytes(kind, points):
    """`points` are (x, y); z is 100 and the tail is all zeros, as in real files."""
    columns = [[x for x, _ in points], [y for _, y in points], [100.0] * len(points)]
    floats = [value for column in columns for value in column]
    return struct.pack("<ii", kind, len(points)) + struct.pack(f"<{len(floats)}f", *floats) + bytes(28)


def file_bytes(objects, roads):
    return struct.pack("<ii", len(objects), len(roads)) + b"".join(objects) + b"".join(roads)


def small_file():
    """Two cars and a pedestrian on a road of two lanes that follow each other, far from the origin."""
    objects = [object_bytes(x=8000.0, y=-5001.75, goal=(8030.0, -5001.75)),
               object_bytes(x=8010.0, y=-5001.75, goal=(8040.0, -5001.75), valid=[0, 1, 1, 0], expert=1),
               object_bytes(kind=2, x=8005.0, y=-5006.0, speed=1.0, size=(0.7, 0.6, 1.7),
                            goal=(8008.0, -5006.0))]
    roads = [road_bytes(4, [(7990.0, -5001.75), (8000.0, -5001.75), (8020.0, -5001.75)]),
             road_bytes(4, [(8020.0, -5001.75), (8060.0, -5001.75)]),
             road_bytes(6, [(7990.0, -5004.0), (8060.0, -5004.0)]),
             road_bytes(5, [(7990.0, -5000.0), (8060.0, -5000.0)]),
             road_bytes(7, [(8020.0, -5003.5)]),
             road_bytes(8, [(8021.0, -5004.0), (8023.0, -5004.0), (8023.0, -4996.0)]),
             road_bytes(9, [(8030.0, -5004.0), (8031.0, -4996.0)]),
             road_bytes(10, [(8050.0, -5004.0), (8050.0, -5010.0)])]
    return file_bytes(objects, roads)
