"""Do scenes of lane maps have the bytes that are on record, and does a seed change them?"""

from __future__ import annotations

import json

from scene_hashes import FILE, hashes


def test_scenes_have_the_bytes_on_record():
    """`python tests/helpers/scene_hashes.py` records them anew, which needs a reason."""
    assert hashes() == json.loads(FILE.read_text())


def test_every_seed_makes_a_scene_of_its_own():
    for found in hashes().values():
        assert len(set(found)) == len(found)
