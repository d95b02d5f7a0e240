"""Does an unknown name raise an error with similar names, in every call?"""

import inspect
import re
from importlib.util import find_spec

import gymnasium
import pettingzoo
import pytest
from public_names import MODULES, WITH_EXTRAS, public_objects

import drive_env
from drive_env import ArgumentError, Batch, ConfigError, DriveError, SceneError, check_names
from drive_env.api.gym import DriveVectorEnv
from drive_env.api.registration import ENV_ID
from drive_env.names import named_arguments


def with_options():
    """Public functions and constructors that have two or more optional arguments."""
    for path, found in public_objects((*MODULES, *(WITH_EXTRAS if find_spec("stable_baselines3") else ()))).items():
        function = vars(found).get("__init__") if inspect.isclass(found) else found
        if not inspect.isfunction(function) or found is check_names:
            continue
        optional = [one for one in inspect.signature(function).parameters.values()
                    if one.default is not one.empty or one.kind is one.VAR_KEYWORD]
        if len(optional) >= 2 and not hasattr(found, "__dataclass_fields__"):
            yield pytest.param(found, [one.name for one in optional], id=path)


OPTIONS = list(with_options())

UNKNOWN = r"(\w+ has no parameter|[\w.]+\(\) got an unexpected keyword argument)"
"""The second form begins as Python's own: Gymnasium and TorchRL search for it to learn which arguments an env takes."""


def unexpected(owner, name, similar):
    return re.escape(f"{owner}() got an unexpected keyword argument '{name}'; did you mean {similar}?")


def test_the_envs_and_the_batch_are_among_them():
    found = {case.values[0] for case in OPTIONS}
    assert found >= {Batch, drive_env.parallel_env, drive_env.aec_env, DriveVectorEnv, drive_env.generate_scene}


@pytest.mark.parametrize("found, names", OPTIONS)
def test_an_unknown_argument_is_an_error_with_those_of_similar_names(found, names):
    if found is drive_env.generate_scene:
        found, names = lambda **options: drive_env.generate_scene("town", **options), ["lane_width_m"]
    elif found is drive_env.compose:
        found, names = lambda **options: drive_env.compose("S", **options), ["lane_width_m", "speed_limit_mps"]
    for name in names:
        sentence = rf"^{UNKNOWN} '{name}x'; did you mean .*\b{name}\b"
        with pytest.raises(ArgumentError, match=sentence):
            found(**{f"{name}x": 1})
    with pytest.raises(TypeError, match=rf"^{UNKNOWN} 'qqq'; it has .*\b{names[-1]}\b"):
        found(qqq=1)


@pytest.mark.parametrize("make, sentence", [
    (lambda: gymnasium.make(ENV_ID, scene="town"), unexpected("DriveEnv.__init__", "scene", "scenes")),
    (lambda: gymnasium.make_vec(ENV_ID, scene="town"), unexpected("DriveVectorEnv.__init__", "scene", "scenes")),
    (lambda: Batch(num_world=1), unexpected("Batch.__init__", "num_world", "num_worlds")),
    (lambda: drive_env.parallel_env(max_cycle=3), unexpected("parallel_env", "max_cycle", "max_cycles")),
    (lambda: drive_env.generate_scene("town", agent=3), "^town has no parameter 'agent'; did you mean the argument"),
])
def test_the_error_is_one_sentence(make, sentence):
    with pytest.raises(ArgumentError, match=sentence) as error:
        make()
    assert isinstance(error.value, (DriveError, TypeError)) and "\n" not in str(error.value)


@pytest.mark.skipif(not hasattr(pettingzoo, "register"), reason="this version of PettingZoo has no registry")
@pytest.mark.parametrize("kind", ["parallel", "aec"])
def test_pettingzoo_s_make_raises_it_too(kind):
    with pytest.raises(ArgumentError, match=unexpected(f"{kind}_env", "scene", "scenes")):
        pettingzoo.make(kind, ENV_ID, scene="town")


def test_names_that_are_known_pass_and_the_first_unknown_one_is_named():
    check_names("a", ["b"], ["b", "c"])
    check_names("a", {}, [])
    with pytest.raises(ConfigError, match="^a has no field 'x'; it has none$"):
        check_names("a", {"x": 1, "y": 2}, [])
    with pytest.raises(SceneError, match=r"^a has no knob 'speeds'; did you mean speed or speed_mps\?$"):
        check_names("a", ["speeds"], ["speed", "speed_mps", "other"], "knob", SceneError)
    for odd in (3, None, (), ""):
        with pytest.raises(ArgumentError, match="^a has no field .*; it has b, c$"):
            check_names("a", [odd], ["b", "c"])


def test_aliases_are_hints_and_no_fields():
    paths = {"b": "b", "depth": "group.depth"}
    for name in ("depth", "dept"):
        with pytest.raises(ArgumentError, match=rf"^a has no field '{name}'; did you mean group\.depth\?$"):
            check_names("a", [name], paths)


def test_a_checked_function_is_called_as_before():
    @named_arguments
    def total(one: int, two: int = 2, *, three: int = 3) -> int:
        """Words."""
        return one + two + three

    assert total(1) == total(one=1, two=2, three=3) == 6 and total.__doc__ == "Words."
    assert list(inspect.signature(total).parameters) == ["one", "two", "three"]
