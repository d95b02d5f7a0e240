"""Which error does an adapter raise whose client is not installed?"""

import importlib
import sys

import pytest

from drive_env.errors import MissingExtraError


def test_without_stable_baselines3_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    for name in list(sys.modules):
        if name.startswith("stable_baselines3.") or name == "drive_env.api.sb3":
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(MissingExtraError, match=r'pip install "drive-env\[sb3\]"$'):
        importlib.import_module("drive_env.api.sb3")
