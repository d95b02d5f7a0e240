"""What does a replay page hold? Its data, decoded as docs/replay.md says, without the code of the package."""

import base64
import json
import re
import zlib

import numpy as np


class Page:
    """The recording in a page: `header`, and arrays of shape (series, frames) by name."""

    def __init__(self, html):
        packed = re.search(r'<script type="text/plain" id="recording">([^<]*)</script>', html)[1]
        data = zlib.decompress(base64.b64decode(packed))
        header_bytes = int.from_bytes(data[:4], "little")
        self.header = json.loads(data[4 : 4 + header_bytes])
        self._body = data[4 + header_bytes :]

    def array(self, name):
        entry = self.header["arrays"][name]
        length = entry["series"] * entry["frames"]
        counts = []
        for i in range(length):
            offsets = [entry["at"] + plane * length + i for plane in range(entry["planes"])]
            unsigned = sum(self._body[offset] << (8 * plane) for plane, offset in enumerate(offsets))
            counts.append(-(unsigned + 1) // 2 if unsigned % 2 else unsigned // 2)
        counts = np.array(counts, np.int64).reshape(entry["series"], entry["frames"])
        for _ in range(entry["order"]):
            counts = np.cumsum(counts, axis=1)
        counts = (counts + 2**31) % 2**32 - 2**31
        if entry["quantum"] == 0:
            return counts.astype(np.int32).view(np.float32)
        return counts * entry["quantum"]

    def frames(self, name):
        """(frames, series)."""
        return self.array(name).T
