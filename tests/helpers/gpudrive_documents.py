"""How do tests make, change and read the document of a GPUDrive JSON?"""

from __future__ import annotations

import copy

import pytest
from json_writer import json_bytes, road, small_document

from drive_env.errors import SceneError
from drive_env.scenes.readers.gpudrive import read_gpudrive
from drive_env.scenes.validate import validate_scene

EDGE = road("road_edge", 15, [(0.0, 0.0), (1.0, 0.0)])
HUGE = 10**30


def read(document):
    return validate_scene(read_gpudrive(json_bytes(document), "folder/written.json"))


def refusal(document):
    with pytest.raises(SceneError) as caught:
        read_gpudrive(json_bytes(document), "x.json")
    return str(caught.value)


def document_of(*objects, roads=(EDGE,), **fields):
    objects = [{**entry, "id": index} for index, entry in enumerate(objects)]
    return {"objects": objects, "roads": list(roads), **fields}


def edited(*edits, document=None):
    """The small document with (path, value) replaced; a value of `...` removes the field."""
    document = copy.deepcopy(small_document() if document is None else document)
    for *path, last, value in edits:
        owner = document
        for key in path:
            owner = owner[key]
        if value is ...:
            del owner[last]
        else:
            owner[last] = value
    return document
