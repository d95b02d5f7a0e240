"""Does the package work without the extra, and name what is missing?"""

import subprocess
import sys

import pytest

EXTRA = ("cv2", "PIL", "av", "matplotlib")

SCRIPT = """
import sys
sys.modules[{module!r}] = None  # as if it were not installed
import drive_env, drive_env.render
try:
    {use}
except drive_env.DriveError as error:
    print(type(error).__name__, isinstance(error, ImportError), error)
"""

USES = {
    "cv2": "drive_env.render.SceneView",
    "PIL": "drive_env.render.SceneView",
    "av": "import numpy; drive_env.render.write_video([numpy.zeros((8, 8, 3), numpy.uint8)], 'x.mp4')",
    "matplotlib": "drive_env.render.plot_metrics([{'score': 1.0}], 'x.png')",
}


def run(code, folder):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout


def test_importing_the_package_imports_none_of_the_extra(tmp_path):
    code = f"import sys, drive_env, drive_env.render; print(sorted(set({EXTRA}) & set(sys.modules)))"
    assert run(code, tmp_path) == "[]\n"


@pytest.mark.parametrize("module", EXTRA)
def test_a_missing_package_is_one_sentence_that_names_the_extra(module, tmp_path):
    if module in ("av", "matplotlib"):
        pytest.importorskip("cv2", reason='drawing needs the extra: pip install "drive-env[render]"')
    output = run(SCRIPT.format(module=module, use=USES[module]), tmp_path)
    assert output.startswith("MissingExtraError True drawing needs ")
    assert output.endswith('pip install "drive-env[render]"\n') and output.count("\n") == 1


def test_an_unknown_name_is_no_attribute():
    import drive_env.render

    assert not hasattr(drive_env.render, "paint")
    assert set(drive_env.render.__all__) <= set(dir(drive_env.render))
