"""Does the installed package work by itself? Run by the Python of an environment that has drive-env alone, from an
empty folder; prints its findings as JSON.

`python -W error installed_checks.py HELPERS`: HELPERS is the folder of golden.py.
"""

import json
import sys
from importlib.metadata import distributions

import gymnasium
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test

import drive_env


def standard_checks() -> None:
    """The checks of the two libraries."""
    scene = drive_env.generate_scene("town", agents=8)
    parallel_api_test(drive_env.parallel_env(scene, drive_env.DriveConfig(max_trials=2, trial_steps=20)), num_cycles=60)
    check_env(gymnasium.make("drive_env/Drive-v0", scenes=scene).unwrapped, skip_render_check=True)


def run_episode() -> float:
    """One episode of the README's first example; returns the share of trials that scored."""
    env = drive_env.parallel_env("town", drive_env.DriveConfig(max_trials=2, trial_steps=30))
    env.reset(seed=0)
    while env.agents:
        env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    score = env.batch.metrics()["score"]
    env.close()
    assert score.n == 32, score
    return score.value


def missing_extras() -> list[str]:
    """The errors of calls that need an extra which is not installed."""
    sentences = []
    env = drive_env.parallel_env("town", render_mode="rgb_array")
    env.reset(seed=0)
    try:
        env.render()
    except ImportError as error:
        sentences.append(str(error))
    try:
        from drive_env.api.sb3 import DriveVecEnv  # noqa: F401
    except ImportError as error:
        sentences.append(str(error))
    from drive_env.cli import main
    try:
        main()
    except SystemExit as error:
        sentences.append(str(error))
    return sentences


def replay_page_bytes() -> int:
    """The size of a replay page, which is made of data files of the wheel."""
    recording = drive_env.record("intersection", config=drive_env.DriveConfig(trial_steps=5))
    return len(recording.html())


def logged_frames() -> int:
    """The length of the log that is a file of the wheel."""
    return drive_env.load_scene("example_log").objects.frame_count


def check_known_bytes(golden) -> None:
    """Seeded rollouts give the golden hashes."""
    known = json.loads(golden.FILE.read_text())
    for rollout in ("town/discrete", "intersection/continuous"):
        assert golden.hash_of(rollout) == known[rollout], rollout


def main() -> None:
    at_import = sorted(name for name in ("cv2", "PIL", "matplotlib", "av", "torch", "typer") if name in sys.modules)
    printed, sys.stdout = sys.stdout, sys.stderr
    standard_checks()
    run_episode()
    sys.path.append(sys.argv[1])
    import golden

    check_known_bytes(golden)
    found = {
        "file": drive_env.__file__,
        "version": drive_env.__version__,
        "installed": {package.metadata["Name"].lower(): package.version for package in distributions()},
        "imported_extras": at_import,
        "missing_extras": missing_extras(),
        "replay_page_bytes": replay_page_bytes(),
        "logged_frames": logged_frames(),
    }
    print(json.dumps(found), file=printed)


if __name__ == "__main__":
    main()
