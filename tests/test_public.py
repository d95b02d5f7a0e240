"""Is the public API documented in full? Types and docstrings of every public name, and no other names."""

import dataclasses
import importlib
import inspect
import re
import subprocess
import sys
import types
import typing
from importlib.util import find_spec

import pytest
from public_names import MODULES, WITH_EXTRAS, public_callables, public_classes, public_objects

import drive_env

# An adapter is tested where its client is installed, as in make test-clients.
EVERYWHERE = (*MODULES, *(WITH_EXTRAS if find_spec("stable_baselines3") else ()))
OBJECTS = public_objects(EVERYWHERE)
CLASSES = public_classes(EVERYWHERE)
CALLABLES = list(public_callables(EVERYWHERE))

each_callable = pytest.mark.parametrize("function, words", [found for _, *found in CALLABLES],
                                        ids=[path for path, *_ in CALLABLES])
each_class = pytest.mark.parametrize("found", CLASSES.values(), ids=CLASSES)

CANNOT_FAIL = {"Batch.__exit__", "LaneDriver.__init__", "Report.drop", "Report.impute", "Recording.html",
               "LaneGraph.after", "DriveVectorEnv.close_extras", "DriveVecEnv.step_async", "SubEnv.__init__",
               "SceneError.__init__", "EvalResult.to_dict", "Evaluator.variants", "Evaluator.probe",
               "HumanReplay.probe", "Probe.after_step", "Evaluator.act_maker", "Evaluator.measured",
               "BehaviourClass.probe", "TrafficMatrix.measured", "Evaluator.conditions_of", "Evaluator.policy_under",
               "Adaptation.conditions_of", "Adaptation.policy_under", "Realism.probe", "Realism.measured"}
"""Callables without an invalid argument of the right type."""


def names_of_arguments(function) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name not in ("self", "kwargs", "_")]


def hints_of(found) -> dict:
    """The types that a function or class names itself, by argument or attribute."""
    names = vars(sys.modules[found.__module__]) | {"Self": object}
    return {name: eval(hint, names) if isinstance(hint, str) else hint
            for name, hint in inspect.get_annotations(found).items()}


def hidden_types(hints: dict) -> set[str]:
    """Classes of this package that the hints name and that are not public."""
    def parts_of(hint):
        if isinstance(hint, list):  # the arguments of a Callable
            return [part for entry in hint for part in parts_of(entry)]
        return [hint, *(part for entry in typing.get_args(hint) for part in parts_of(entry))]

    return {part.__qualname__ for name, hint in hints.items() if not name.startswith("_") for part in parts_of(hint)
            if inspect.isclass(part) and part.__module__.startswith("drive_env") and part not in CLASSES.values()}


def test_the_package_has_no_names_but_public_ones_and_modules():
    names = {name for name, found in vars(drive_env).items()
             if not name.startswith("_") and not isinstance(found, types.ModuleType)}
    assert names - {"annotations", "TYPE_CHECKING", *drive_env.__all__} == set()


@pytest.mark.parametrize("module", EVERYWHERE)
def test_all_lists_every_name_once_and_in_order(module):
    offered = importlib.import_module(module).__all__
    assert sorted(set(offered), key=lambda name: (not name.isupper(), not name[0].isupper(), name)) == list(offered)


@each_callable
def test_every_argument_and_every_result_has_a_type(function, words):
    assert set(function.__annotations__) >= {*names_of_arguments(function), "return"}


@each_callable
def test_the_types_that_are_named_are_public_too(function, words):
    assert hidden_types(hints_of(function)) == set()


@each_class
def test_the_types_of_attributes_are_public_too(found):
    assert hidden_types(hints_of(found)) == set()


@each_callable
def test_every_argument_is_documented(function, words):
    assert [name for name in names_of_arguments(function) if not re.search(rf"\b{name}\b", words)] == []


@each_callable
def test_every_returned_array_has_its_shape_documented(function, words):
    if "ndarray" in str(hints_of(function)["return"]):
        assert re.search(r"\([A-Za-z0-9_*. ]+,[^)]*\)|in the form of `batch\.actions`", words)


@each_callable
def test_every_error_is_documented(function, words):
    if names_of_arguments(function) and function.__qualname__ not in CANNOT_FAIL:
        assert "Raises:" in words


@pytest.mark.parametrize("found", [one for one in OBJECTS.values() if isinstance(one, (type, types.FunctionType))])
def test_every_public_name_has_a_docstring_of_its_own(found):
    inherited = {parent.__doc__ for parent in found.__mro__[1:]} if inspect.isclass(found) else set()
    assert found.__doc__ and found.__doc__ not in inherited
    assert not found.__doc__.startswith(f"{found.__name__}(")  # the docstring that dataclass generates


@each_callable
def test_every_public_member_has_a_docstring_of_its_own(function, words):
    assert len(words) > 1


@pytest.mark.parametrize("found", [found for found in CLASSES.values() if dataclasses.is_dataclass(found)])
def test_every_field_is_documented(found):
    """In the docstring of the class or of the field."""
    undocumented = [field.name for field in dataclasses.fields(found)
                    if not field.metadata.get("meaning") and not re.search(rf"\b{field.name}\b", found.__doc__)]
    assert undocumented == []


@pytest.mark.parametrize("adapter", [found for name, found in CLASSES.items() if re.search(r"Drive\w*Env$", name)])
def test_the_error_of_an_adapter_names_every_observation_type_it_takes(adapter):
    text = " ".join(adapter.__doc__.split())
    assert "vectors of float32, or by `config.observation.type` of float16, or images of uint8" in text
    for name, member in vars(adapter).items():
        docstring = " ".join((inspect.getdoc(member) or "").split()) if not name.startswith("_") else ""
        assert not re.search(r"observation[^.;]* float32", docstring), name


@pytest.mark.parametrize("name", ["drivers.LaneDriver", "replay.record", "tasks.hidden_exit"])
def test_a_dotted_name_works_in_a_process_that_has_imported_the_package_alone(name, tmp_path):
    """As pages and errors write it; other tests have imported the module already."""
    command = [sys.executable, "-c", f"import drive_env; print(drive_env.{name}.__name__)"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)  # not beside the checkout's drive_env
    assert (done.stdout, done.stderr) == (name.rpartition(".")[2] + "\n", "")
