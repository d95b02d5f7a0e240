"""Are advantages those of the channels' rules? Oracles exact in binary, properties, and a brute-force check."""

import math
import random

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from baselines.gae import CREDIT, TIME_LIMITS, Steps, advantages

NAN = math.nan
W = 4.0
"""The value of a restart."""

FLAGS = ("invalid", "terminations", "truncations", "truncation", "trial_ended", "first")


def segment(rewards, values, last_value, waits=False, w=W, last_first=False, disturbed=(), **flags):
    """`Steps` of one agent; each flag is the list of steps at which it is set, and `disturbed` those of a disturbance.

    It waits in the other invalid steps.
    """
    count = len(rewards)
    assert set(flags) <= set(FLAGS)
    at = {name: torch.tensor([[step in flags.get(name, ()) for step in range(count)]]) for name in FLAGS}
    number = lambda entries: torch.tensor([entries], dtype=torch.float64)
    return Steps(rewards=number(rewards), values=number(values), last_value=number(last_value).reshape(1),
                 waits=at["invalid"] & ~torch.isin(torch.arange(count), torch.tensor(disturbed)),
                 last_waits=torch.tensor([waits]), last_first=torch.tensor([last_first]),
                 restart_value=number(w).reshape(1), **at)


def estimate(steps, credit="through", gamma=0.5, gae_lambda=0.5, gamma_trial=None, time_limits="bootstrap"):
    return advantages(steps, gamma, gae_lambda, credit, gamma_trial, time_limits)[0]


INNER = {"rewards": [1, 2, 0, 3, 4], "values": [1, 2, 6, 3, 4], "last_value": 8, "invalid": [2]}

ORACLES = {
    "plain": (
        {"rewards": [1, 2, 3, 4], "values": [1, 2, 3, 4], "last_value": 8}, [[1.5625, 2.25, 3, 4]] * 3),
    "goal for good at 1": (
        {"rewards": [1, 2, 0, 0, 3, 4], "values": [1, 2, 99, -99, 3, 4], "last_value": 8, "invalid": [2, 3],
         "terminations": [1], "trial_ended": [2]}, [[1, 0, None, None, 3, 4]] * 3),
    "time limit at 1": (
        {**INNER, "truncations": [1], "truncation": [1], "trial_ended": [1]}, [[1.75, 3, None, 3, 4]] * 3),
    "inner clock at 1": (
        {**INNER, "truncation": [1], "trial_ended": [1]},
        [[1.5625, 2.25, None, 3, 4], [1.75, 3, None, 3, 4], [1, 0, None, 3, 4]]),
    "inner goal and clock in one step": (
        {**INNER, "trial_ended": [1]}, [[1.5625, 2.25, None, 3, 4], [1, 0, None, 3, 4], [1, 0, None, 3, 4]]),
    "inner goal at 1, wait, end at 3": (
        {"rewards": [1, 2, 0, 0, 0, 3, 4], "values": [1, 2, 99, -99, 77, 3, 4], "last_value": 8,
         "invalid": [2, 3, 4], "trial_ended": [3]},
        [[1.5625, 2.25, None, None, None, 3, 4], *[[1, 0, None, None, None, 3, 4]] * 2]),
    "restart step last": (
        {"rewards": [1, 2, 0], "values": [1, 2, 6], "last_value": 3, "invalid": [2], "truncation": [1],
         "trial_ended": [1]}, [[1.375, 1.5, None], [1.75, 3, None], [1, 0, None]]),
    "inner clock on the last step": (
        {"rewards": [1, 2], "values": [1, 2], "last_value": 6, "truncation": [1], "trial_ended": [1], "waits": True},
        [[1.5, 2], [1.75, 3], [1, 0]]),
    "inner goal ends the trial on the last step": (
        {"rewards": [1, 2], "values": [1, 2], "last_value": NAN, "trial_ended": [1], "waits": True},
        [[1.5, 2], [1, 0], [1, 0]]),
    "waiting to the end": (
        {"rewards": [1, 2, 0, 0], "values": [1, 2, 99, 99], "last_value": NAN, "invalid": [2, 3], "waits": True},
        [[1.5, 2, None, None], [1, 0, None, None], [1, 0, None, None]]),
    "waiting to the end, trial over": (
        {"rewards": [1, 2, 0, 0], "values": [1, 2, 99, 99], "last_value": NAN, "invalid": [2, 3], "waits": True,
         "trial_ended": [3]}, [[1.5, 2, None, None], [1, 0, None, None], [1, 0, None, None]]),
    "the same, later": (
        {"rewards": [1, 1, 2, 0], "values": [1, 2, 3, 99], "last_value": NAN, "invalid": [3], "waits": True},
        [[1.1875, 0.75, 1, None], *[[1.0625, 0.25, -1, None]] * 2]),
    "last trial's clock on the last step": (
        {"rewards": [1, 2], "values": [1, 2], "last_value": 6, "truncations": [1], "truncation": [1],
         "trial_ended": [1], "waits": True}, [[1.75, 3]] * 3),
    "segment opens in a wait": (
        {"rewards": [0, 0, 3, 4], "values": [9, 9, 3, 4], "last_value": 8, "invalid": [0, 1]},
        [[None, None, 3, 4]] * 3),
    "cut in two, first": ({"rewards": [1, 2], "values": [1, 2], "last_value": 3}, [[1.375, 1.5]] * 3),
    "cut in two, second": ({"rewards": [3, 4], "values": [3, 4], "last_value": 8}, [[3, 4]] * 3),
}


def valid_entries(agent, steps):
    return [value if not waits else None for value, waits in zip(agent.tolist(), steps.invalid[0].tolist())]


@pytest.mark.parametrize("credit", CREDIT)
@pytest.mark.parametrize("case", ORACLES)
def test_advantages_equal_the_oracle_to_the_bit(case, credit):
    given, expected = ORACLES[case]
    steps = segment(**given)
    found, returns = advantages(steps, 0.5, 0.5, credit)
    assert valid_entries(found[0], steps) == expected[CREDIT.index(credit)]
    assert valid_entries(returns[0], steps) == [
        None if a is None else a + v for a, v in zip(expected[CREDIT.index(credit)], given["values"])]


@pytest.mark.parametrize("credit", CREDIT)
def test_the_last_trials_clock_is_bootstrapped_and_an_inner_one_as_credit_says(credit):
    # Rewards are 0 and the next value is 6, so the advantage is the discounted bootstrap, 3.
    clock = {"rewards": [0], "values": [0], "last_value": 6, "truncation": [0], "trial_ended": [0], "waits": True,
             "w": 2}
    assert estimate(segment(**clock, truncations=[0]), credit).tolist() == [[3.0]]
    inner = {"through": 1.0, "per_trial": 3.0, "stop": 0.0}  # the next trial's first value, the trial's own next one, 0
    assert estimate(segment(**clock), credit).tolist() == [[inner[credit]]]


@pytest.mark.parametrize("case, expected", [
    ("inner clock at 1", [2.125, 4.5, None, 3, 4]), ("inner clock on the last step", [2, 4])])
def test_a_trial_boundary_may_have_a_discount_of_its_own(case, expected):
    steps = segment(**ORACLES[case][0])
    assert valid_entries(estimate(steps, gamma_trial=1.0)[0], steps) == expected


def test_a_time_limit_is_bootstrapped_from_no_other_value():
    given = dict(ORACLES["time limit at 1"][0])
    right = estimate(segment(**given))[0, :2].tolist()
    from_before = estimate(segment(**dict(given, values=[1, 2, 2, 3, 4])))[0, :2].tolist()
    from_next_trial = estimate(segment(**dict(given, values=[1, 2, 3, 3, 4])))[0, :2].tolist()
    assert (right, from_before, from_next_trial) == ([1.75, 3], [1.25, 1], [1.375, 1.5])


def brute_force(steps, gamma, gae_lambda, credit, gamma_trial):
    """The rules for one agent, by recursion."""
    get = lambda name: getattr(steps, name)[0].tolist()
    r, v, invalid = get("rewards"), get("values"), get("invalid")
    term, truncs, trunc, trial_ended = (get(name) for name in
                                        ("terminations", "truncations", "truncation", "trial_ended"))
    end, v_end = len(r), steps.last_value.item()
    waits_end, w = steps.last_waits.item(), steps.restart_value.item()
    value = lambda s: v_end if s == end else v[s]

    # From valid step t to the agent's next valid one, n.
    def advantage(t):
        n = next((s for s in range(t + 1, end) if not invalid[s]), end)
        waits_next = waits_end if t + 1 == end else invalid[t + 1]
        event = waits_next and not trunc[t]
        between = range(t, n)
        trial_gamma = gamma if gamma_trial is None else gamma_trial
        d, goes_on = gamma, False

        # What the reward is bootstrapped with, and whether the estimate of n is added.
        if any(term[s] for s in between):
            boot = 0.0
        elif truncs[t]:
            boot = value(t + 1)
        elif credit in ("per_trial", "stop") and event:
            boot = 0.0
        elif credit == "per_trial" and trunc[t]:
            boot = value(t + 1)
        elif credit == "stop" and trunc[t]:
            boot = 0.0
        elif n == end and waits_end:
            boot, d = w, trial_gamma
        else:
            boot, goes_on = value(n), n < end
            d = trial_gamma if any(trial_ended[s] for s in between) else gamma
        return r[t] + d * boot - v[t] + (d * gae_lambda * advantage(n) if goes_on else 0.0)

    return [None if invalid[t] else advantage(t) for t in range(end)]


def random_steps(rng, count):
    """Random flags, also in combinations that no world has; invalid steps hold NaN."""
    share = lambda p: [step for step in range(count) if rng.random() < p]
    waits = rng.random() < 0.4
    invalid = share(0.35)
    truncation = share(0.15)
    garbage = lambda step: step in invalid and step - 1 not in truncation
    return segment(
        rewards=[NAN if step in invalid else rng.uniform(-1, 1) for step in range(count)],
        values=[NAN if garbage(step) else rng.uniform(-1, 1) for step in range(count)],
        last_value=rng.uniform(-1, 1), waits=waits, w=rng.uniform(-1, 1) if waits else NAN, invalid=invalid,
        truncation=truncation, terminations=[step for step in share(0.1) if step not in truncation],
        truncations=[step for step in truncation if rng.random() < 0.5], trial_ended=share(0.2))


@pytest.mark.parametrize("credit", CREDIT)
@pytest.mark.parametrize("gamma_trial", [None, 0.8])
def test_random_flags_agree_with_the_brute_force(credit, gamma_trial):
    rng = random.Random(f"{credit}{gamma_trial}")
    for _ in range(400):
        steps = random_steps(rng, rng.randint(1, 12))
        found = valid_entries(estimate(steps, credit, 0.97, 0.9, gamma_trial)[0], steps)
        expected = brute_force(steps, 0.97, 0.9, credit, gamma_trial)
        assert found == [None if e is None else pytest.approx(e, abs=1e-12) for e in expected]
        assert not any(e is not None and math.isnan(e) for e in found)


@pytest.mark.parametrize("credit", CREDIT)
@pytest.mark.parametrize("case", ORACLES)
def test_invalid_steps_may_hold_anything(case, credit):
    steps = segment(**ORACLES[case][0])
    pointed_at = torch.nn.functional.pad(steps.truncation[:, :-1], (1, 0))
    spoiled = steps._replace(rewards=torch.where(steps.invalid, NAN, steps.rewards),
                             values=torch.where(steps.invalid & ~pointed_at, NAN, steps.values))
    for gamma_trial in (None, 1.0):
        for found, wanted in zip(advantages(spoiled, 0.5, 0.5, credit, gamma_trial),
                                 advantages(steps, 0.5, 0.5, credit, gamma_trial)):
            assert torch.equal(found, wanted)


@pytest.mark.parametrize("gamma_trial", [None, 0.75])
@pytest.mark.parametrize("credit", CREDIT)
def test_a_segment_cut_in_a_wait_has_the_advantages_of_the_whole(credit, gamma_trial):
    """`restart_value` is the value of the restart in the same context, so it is the next value of the whole."""
    whole = dict(ORACLES["inner goal at 1, wait, end at 3"][0])
    expected = estimate(segment(**whole), credit, gae_lambda=0.0, gamma_trial=gamma_trial)[0, :2].tolist()
    for cut in (2, 3, 4):
        head = segment(rewards=whole["rewards"][:cut], values=whole["values"][:cut], last_value=NAN, waits=True,
                       w=whole["values"][5], invalid=[2, 3], trial_ended=[3] if cut == 4 else [])
        assert estimate(head, credit, gae_lambda=0.0, gamma_trial=gamma_trial)[0, :2].tolist() == expected


def test_lambda_1_gives_the_discounted_return_minus_the_value():
    given = dict(ORACLES["inner goal at 1, wait, end at 3"][0])
    steps = segment(**given)
    rewards, discount, gamma = [1, 2, 3, 4], 0.9, 0.9
    expected, ahead = [], 8.0
    for reward in reversed(rewards):
        ahead = reward + discount * ahead
        expected.append(ahead)
    found, returns = advantages(steps, gamma, 1.0)
    valid = ~steps.invalid[0]
    assert returns[0][valid].tolist() == pytest.approx(expected[::-1], abs=1e-12)
    assert found[0][valid].tolist() == pytest.approx(
        [e - v for e, v in zip(expected[::-1], [1, 2, 3, 4])], abs=1e-12)


@pytest.mark.parametrize("credit", CREDIT)
def test_inserted_waits_change_no_advantage(credit):
    rng = random.Random(5)
    for _ in range(100):
        rewards = [rng.uniform(-1, 1) for _ in range(6)]
        values = [rng.uniform(-1, 1) for _ in range(6)]
        short = segment(rewards=[*rewards[:3], 0, *rewards[3:]], values=[*values[:3], NAN, *values[3:]],
                        last_value=0.3, invalid=[3], trial_ended=[2])
        more = rng.randint(1, 5)
        long = segment(rewards=[*rewards[:3], *[0] * (1 + more), *rewards[3:]],
                       values=[*values[:3], *[NAN] * (1 + more), *values[3:]], last_value=0.3,
                       invalid=range(3, 4 + more), trial_ended=[2 + more])
        keep = lambda steps: [a for a in valid_entries(estimate(steps, credit, 0.9, 0.9)[0], steps) if a is not None]
        assert keep(short) == keep(long)


@pytest.mark.parametrize("credit", CREDIT)
@pytest.mark.parametrize("time_limits", TIME_LIMITS)
@pytest.mark.parametrize("end", [
    [], ["trial_ended"], ["truncation", "trial_ended"], ["terminations", "trial_ended"],
    ["truncations", "truncation", "trial_ended"]])
def test_a_disturbance_ends_no_trial_and_hides_no_end(end, time_limits, credit):
    """The advantages are those without steps 2 and 3, where step 1 has the end flags that step 3 has here."""
    restart = [] if not end else [2]
    without = segment(rewards=[1, 2, *[0] * len(restart), 3, 4], values=[1, 2, *[6] * len(restart), 3, 4],
                      last_value=8, invalid=restart, **dict.fromkeys(end, [1]))
    disturbed = segment(rewards=[1, 2, 0, 0, *[0] * len(restart), 3, 4],
                        values=[1, 2, 9, -9, *[6] * len(restart), 3, 4], last_value=8,
                        invalid=[2, 3, *(4 for _ in restart)], disturbed=[2, 3], **dict.fromkeys(end, [3]))
    found, wanted = (estimate(steps, credit, time_limits=time_limits)[~steps.invalid] for steps in (disturbed, without))
    assert found.tolist() == wanted.tolist()


def test_an_episode_that_opens_without_a_flag_is_an_error():
    given = {"rewards": [1, 2, 0, 3], "values": [1, 2, 3, 4], "last_value": 8, "invalid": [2], "first": [3]}
    with pytest.raises(ValueError, match="agent 0 opens an episode at step 3 of the segment, though its step 1 was"):
        estimate(segment(**given))
    estimate(segment(**given, terminations=[1]))
    estimate(segment(**given, truncations=[1], truncation=[1]))
    estimate(segment(**dict(given, first=[0])))
    with pytest.raises(ValueError, match="at step 4 of the segment, though its step 3"):
        estimate(segment(**dict(given, first=[]), last_first=True))


def test_an_unknown_credit_is_an_error():
    with pytest.raises(ValueError, match="credit is 'half'; it must be one of 'through', 'per_trial', 'stop'"):
        estimate(segment(**ORACLES["plain"][0]), credit="half")


def test_float32_agrees_with_float64_on_every_device():
    rng = random.Random(1)
    agents = [random_steps(rng, 64) for _ in range(64)]
    steps = Steps(*(torch.cat(column) for column in zip(*agents)))
    wanted = advantages(steps, 0.995, 0.95)[0]
    for device in ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]:
        single = Steps(*(x.to(device, torch.float32) if x.is_floating_point() else x.to(device) for x in steps))
        assert (advantages(single, 0.995, 0.95)[0].cpu() - wanted).abs().max() < 1e-5


@pytest.mark.parametrize("credit", CREDIT)
def test_a_terminal_time_limit_has_no_value_after_it(credit):
    """The last trial's counts as a termination; an inner one is bootstrapped where credit flows into the next trial."""
    of_episode = {**INNER, "trial_ended": [1]}
    limit = estimate(segment(**of_episode, truncations=[1], truncation=[1]), credit, time_limits="terminal")
    assert torch.equal(limit, estimate(segment(**of_episode, terminations=[1]), credit))
    assert not torch.equal(limit, estimate(segment(**of_episode, truncations=[1], truncation=[1]), credit))
    inner = segment(**of_episode, truncation=[1])
    without_bootstrap = "stop" if credit == "per_trial" else credit
    assert torch.equal(estimate(inner, credit, time_limits="terminal"), estimate(inner, without_bootstrap))


def test_an_unknown_treatment_of_time_limits_is_an_error():
    with pytest.raises(ValueError, match="time_limits is 'cut'; it must be one of 'bootstrap', 'terminal'"):
        estimate(segment(**INNER), time_limits="cut")
