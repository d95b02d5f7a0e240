"""Do threads, other worlds, copies, processes and settings of the process change no byte?"""

from collections import Counter

import builds
import golden
import numpy as np
import pytest
import table
import ways
import ways_of_calling  # noqa: F401  # enters its ways
import ways_of_processes  # noqa: F401
from ways import WAYS

ROLLOUTS = tuple(golden.ROLLOUTS)


def some_rollouts(number):
    """One rollout a way, another one in each. `make determinism` runs all of them in every way."""
    return [ROLLOUTS[2 * number % len(ROLLOUTS)]]


@pytest.mark.parametrize("name, rollout", [
    (name, rollout) for number, name in enumerate(WAYS) for rollout in some_rollouts(number)])
def test_the_way_a_rollout_is_stepped_changes_no_byte(name, rollout):
    try:
        found = WAYS[name].run(rollout)
    except ways.Unavailable as reason:
        pytest.skip(str(reason))
    assert ways.differences(found, ways.alone(rollout), WAYS[name].parts) == []


@pytest.mark.parametrize("share", [1, 2, 16])
def test_a_share_of_the_table_has_every_rollout_in_several_builds_and_ways(share):
    own = [rollouts for build, rollouts in table.builds_of(share) if build in builds.BUILDS]
    ways = [table.rollouts_of(row, share) for row in range(len(WAYS))]
    for rows in (own, ways):
        ran = Counter(rollout for rollouts in rows for rollout in rollouts)
        assert set(ran) == set(ROLLOUTS)
        assert min(ran.values()) >= 2


def test_any_compiler_level_and_instruction_set_come_together_in_few_builds():
    assert len(builds.FEW_BUILDS) == len(builds.BUILDS) // 3
    for one, other in ((0, 1), (0, 2), (1, 2)):
        pairs = {(build[one], build[other]) for build in builds.FEW_BUILDS}
        assert pairs == {(build[one], build[other]) for build in builds.BUILDS
                         if build.instruction_set in builds.SETS_OF_FEW}


def test_another_seed_gives_other_bytes():
    found = golden.hashes_of(ways.opened("town/discrete", seed=golden.SEED + 1))
    assert ways.differences(found, ways.alone("town/discrete")) != []


def test_a_world_of_another_seed_or_id_gives_other_bytes():
    batch = ways.opened("town/discrete", (0, 1, 2, 77))
    batch.reset(seed=[golden.SEED, 5, golden.SEED, golden.SEED])
    found, alone = golden.hashes_of(batch), ways.alone("town/discrete")
    assert [found.worlds[world] == alone.worlds[world] for world in (0, 1, 2)] == [True, False, True]
    assert found.worlds[77] not in alone.worlds.values()


def test_one_changed_bit_is_found(monkeypatch):
    batch, alone = ways.opened("town/discrete"), ways.alone("town/discrete")
    snapshots = list(ways.copied(golden.snapshots_of(batch)))

    def found():
        hashes = golden.hash_snapshots(snapshots, golden.WORLD_IDS, lambda: golden.report_of(batch))
        return ways.differences(hashes, alone)

    assert found() == []
    for part, arrays in enumerate(snapshots[40][:3]):
        for array in arrays:
            if array[2].size == 0:  # state of trial records, which this batch does not hold
                continue
            world = array[2].copy()
            array[2].reshape(-1).view(np.uint8)[0] ^= 1
            assert found() == [f"world 2: {('outputs', 'reports', 'state')[part]}"]
            array[2] = world
    assert found() == []


def test_the_order_of_the_worlds_changes_at_most_the_last_digits_of_a_report():
    rollout = "town/stopped"
    reports = []
    for world_ids in (golden.WORLD_IDS, golden.WORLD_IDS[::-1]):
        batch = ways.opened(rollout, world_ids)
        golden.hashes_of(batch)
        reports.append(golden.report_of(batch))
    np.testing.assert_array_equal(reports[0][:, 1], reports[1][:, 1])
    np.testing.assert_allclose(reports[0][:, 0], reports[1][:, 0], rtol=1e-14)
