"""What does a picture show, from its pixels alone?"""

from __future__ import annotations

import numpy as np


def of_colour(picture, colour, tolerance=0):
    """(h, w) bool: pixels whose channels all differ from the colour by at most `tolerance`."""
    return (np.abs(picture.astype(int) - np.array(colour)) <= tolerance).all(axis=2)


def places(mask):
    """(n, 2) x, y of the centres of a mask's pixels."""
    rows, columns = np.nonzero(mask)
    return np.stack([columns, rows], axis=1) + 0.5


def blobs(mask):
    """Connected components of a mask as a list of masks, largest first."""
    left, found = mask.copy(), []
    while left.any():
        seed = tuple(np.argwhere(left)[0])
        blob, front = np.zeros_like(mask), [seed]
        left[seed] = False
        while front:
            row, column = front.pop()
            blob[row, column] = True
            for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                if 0 <= near[0] < mask.shape[0] and 0 <= near[1] < mask.shape[1] and left[near]:
                    left[near] = False
                    front.append(near)
        found.append(blob)
    return sorted(found, key=lambda blob: -blob.sum())


def axis_rad(points):
    """Direction of the largest spread of points, in [0, pi), y up."""
    offset = (points - points.mean(axis=0)) * [1, -1]
    _, _, axes = np.linalg.svd(offset, full_matrices=False)
    return float(np.arctan2(axes[0, 1], axes[0, 0]) % np.pi)
