"""Does the page show any recording, at any address and size, in any theme, and in an old browser?"""

from dataclasses import replace

import numpy as np
import pytest
from bare_scene import COAST, THROTTLE, bare_scene, drive, started
from opened_page import DESKTOP, PHONE, Opened
from overpass import overpass
from scripted_scenes import BRAKE_ACTION, batch_of, driver, listed, log_replay, stage

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.replay import Recorder, record
from drive_env.tasks import gates


def an_agent_alone_with_no_slots():
    config = DriveConfig(trial_steps=3, observation={"partners": 0, "roads": 0})
    return record(generate_scene("intersection", agents=1), config=config)


def a_trial_that_was_not_finished():
    with Batch(generate_scene("intersection", agents=3)) as batch:
        recorder = Recorder(batch)
        batch.reset()
        recorder.capture()
        return recorder.recording()


def episodes_on_two_scenes():
    scenes = [generate_scene("intersection", agents=2), generate_scene("town", agents=5)]
    return record(scenes, config=DriveConfig(max_trials=2, trial_steps=5, scene_order="cycle"), episodes=2)


def opened(chromium, tmp_path, recording, hash=""):
    """The page of a recording in a browser."""
    recording.save_html(tmp_path / "page.html")
    page = Opened(chromium, tmp_path / "page.html")
    page.open(DESKTOP, hash)
    return page


def coasted(scene, steps, **config):
    """The recording of a scene in which no agent steers or brakes."""
    with started(scene, **config) as batch:
        recorder = Recorder(batch)
        for _ in range(steps):
            recorder.capture()
            drive(batch)
    return recorder.recording()


def test_a_notebook_shows_it_in_a_frame(chromium, tmp_path):
    recording = a_trial_that_was_not_finished()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html>\n<p>above</p>{recording._repr_html_()}<p>below</p>", "utf-8")
    page = Opened(chromium, path)
    chromium.get(path.as_uri())
    assert page.run("return [...document.querySelectorAll('p')].map(p => p.textContent)") == ["above", "below"]
    try:
        chromium.switch_to.frame(0)
        page.wait_for("return document.body.className === '' && window.replay?.page.panes.length > 0")
        last = recording.trials[0].frame_count - 1
        page.run(f"replay.goTo({last})")
        page.wait_for(f"return replay.view.step === {last}")
    finally:
        chromium.switch_to.default_content()
    assert page.console() == []


@pytest.mark.parametrize("make", [
    an_agent_alone_with_no_slots, a_trial_that_was_not_finished, episodes_on_two_scenes])
def test_it_shows(chromium, tmp_path, make):
    recording = make()
    page = opened(chromium, tmp_path, recording)
    page.run("""
        const {trials} = replay;
        replay.compare(trials.length > 1);
        replay.showTrial(trials.length - 1);
        replay.selectAgent(0);""")
    page.rest()
    page.run("for (const section of document.querySelectorAll('details')) section.open = true")
    page.press("g", "i", "f")
    page.run("replay.play(true)")
    page.wait_for("""
        const {view, trials} = replay;
        return view.step === Math.max(...view.trials.map((number) => trials[number].lastStep));""")
    assert page.text("#panel h2") == "agent_0"
    assert page.run("return replay.trials.length") == len(recording.trials)
    page.run("replay.selectAgent(-1)")
    page.rest()
    assert page.text("#panel h2") == "Outcomes"
    assert page.console() == []


def test_the_reward_of_a_function_is_the_only_row_of_the_table(chromium, tmp_path):
    """It rewards each step with 0.25, a collision too, whatever weight the config has for it."""
    scene = bare_scene([(0.0, 0.0, 0.0), (8.0, 0.0, 0.0)], speeds=[10.0, 0.0])
    recording = record(scene, lambda batch: np.full(batch.num_agents, COAST), {"trial_steps": 8},
                       reward=lambda batch: np.full(batch.num_agents, 0.25))
    page = opened(chromium, tmp_path, recording)
    page.run("replay.selectAgent(0); replay.goTo(3)")
    page.rest()
    rows = page.run("""
        const tables = [...document.querySelectorAll("#panel table")];
        const table = tables.find((one) => one.caption.textContent === "Reward by term");
        return [...table.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    """)
    assert rows == [["own", "+0.250", "+0.750"], ["sum", "+0.250", "+0.750"]]
    page.run("replay.goTo(8)")
    page.rest()
    assert page.text(".events li span").lower() == "collision with agent_1"
    assert page.console() == []


def test_stop_lines_have_the_colour_of_their_light(chromium, tmp_path):
    scene = generate_scene("intersection", seed=3, agents=2, lights=True)
    config = DriveConfig(traffic_controls=True, trial_steps=60, on_collision="ignore", on_offroad="ignore")
    with Batch(scene, config=config) as batch:
        recorder = Recorder(batch)
        batch.reset()
        recorder.capture()
        shown = [batch.light_states().tolist()]
        while not batch.trial_ended[0]:
            batch.step(np.full(batch.num_agents, 6))  # full braking
            recorder.capture()
            shown.append(batch.light_states().tolist())
    page, seen = opened(chromium, tmp_path, recorder.recording()), set()
    assert page.text(".controls") == "Stop lines: off red yellow green"
    middles_m = scene.traffic_controls.line_m.reshape(-1, 2, 2).mean(axis=1).tolist()
    for step in (0, 20, 40, 60):
        page.run("replay.goTo(arguments[0])", step)
        page.rest()
        for (x_m, y_m), state in zip(middles_m, shown[step], strict=True):
            drawn, wanted = page.pixel_and_style(x_m, y_m, f"--light-{state}")
            assert drawn == wanted
            seen.add(state)
    assert len(seen) >= 2 and page.console() == []


def test_what_an_episode_has_drawn_is_shown_and_whether_the_agent_observes_its_goal(chromium, tmp_path):
    """A scene of one gate with two candidate goals, of which the last 1.2 s of a trial reveal one."""
    task = gates(1, trials=1, seeds=[3])
    scene = replace(task.scenes[0], candidate_goals_m=np.array([[70.0, 0.0], [72.0, 0.0]], np.float32))
    config = task.config.replace(trial_steps=30, observation={"goal_reveal_s": 1.2, "candidates": 2})
    with Batch(scene, config=config, seed=1) as batch:
        recorder = Recorder(batch)
        batch.reset()
        for _ in range(26):
            recorder.capture()
            batch.step([THROTTLE])
        scripts, frames = batch.roles[0].scripts, batch.trial_state()["script_frame"]
    (option,) = scripts.option[frames >= 0]
    assert frames.max() > 0
    page = opened(chromium, tmp_path, recorder.recording(), "#agent=0")
    page.run("replay.change({observation: false})")  # which would cover the line
    line_m = scripts.line_m[0].reshape(2, 2)
    for step, is_hidden, is_solid in ((0, True, False), (25, False, True)):
        page.run("replay.goTo(arguments[0])", step)
        page.rest()
        assert (", not observed" in page.text("#section-now")) == is_hidden
        points = [line_m[0] + share * (line_m[1] - line_m[0]) for share in np.linspace(0.1, 0.3, 20)]
        pixels = [page.pixel_and_style(x_m, y_m, "--script") for x_m, y_m in np.array(points).tolist()]
        assert all(drawn == wanted for drawn, wanted in pixels) == is_solid
    assert f"script group 0 {option}, one of 0 to 1" in " ".join(page.text("#section-drawn").split())
    assert page.console() == []


def test_the_panel_shows_the_distance_to_the_goal_of_the_step(chromium, tmp_path):
    """A car at 10 m/s reaches its goal at 20 m in step 19, after which the next one is at 50 m."""
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(20.0, 0.0)], speeds=[10.0],
                       roads=[("lane", [(0.0, 0.0), (90.0, 0.0)])])
    recording = coasted(scene, 30, on_goal="next", goal_spacing_m=30.0, goal_radius_m=1.5)
    page = opened(chromium, tmp_path, recording, "#agent=0")
    for step, distance in ((0, "20.0 m"), (18, "2.0 m"), (19, "31.0 m"), (29, "21.0 m")):
        page.run("replay.goTo(arguments[0])", step)
        page.rest()
        assert f"goal {distance}" in " ".join(page.text("#section-now").split())
    assert page.console() == []


def test_the_panel_shows_the_reward_of_every_term(chromium, tmp_path):
    """A car at 10 m/s along a lane reaches its goal at 20 m in step 19: 0.02 a step for the lane, then 1."""
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(20.0, 0.0)], speeds=[10.0],
                       roads=[("lane", [(0.0, 0.0), (90.0, 0.0)])])
    reward = {"goal": 1.0, "progress_per_m": 0.0, "lane_alignment_per_s": 0.2}
    recording = coasted(scene, 20, reward=reward, goal_radius_m=1.5)
    page = opened(chromium, tmp_path, recording, "#agent=0")
    for step, rows in ((0, []), (5, ["lane_alignment +0.020 +0.100", "sum +0.020 +0.100"]),
                       (19, ["goal +1.000 +1.000", "lane_alignment +0.020 +0.380", "sum +1.020 +1.380"])):
        page.run("replay.goTo(arguments[0])", step)
        page.rest()
        words = " ".join(page.text("#section-reward").split())
        assert all(row in words for row in rows)
        assert "0 in the whole episode: collision, offroad, progress" in words
    assert page.console() == []


def test_the_page_has_the_observed_goals_lights_and_signs_where_they_are(chromium, tmp_path):
    """Two trials of agents in a town with lights; the page must have what the observation vectors have."""
    scene = generate_scene("town", seed=3, agents=4, lights=True)
    config = DriveConfig(traffic_controls=True, on_goal="next", goal_spacing_m=20.0, trial_steps=15, max_trials=2,
                         observation={"controls": 3, "goals": 2}, on_collision="ignore", on_offroad="ignore")
    with Batch(scene, config=config, seed=2) as batch:
        recorder, layout, seen = Recorder(batch), batch.observation_layout(), []
        batch.reset()
        for _ in range(12):
            recorder.capture()
            seen.append(batch.observations.copy())
            batch.step(np.full(batch.num_agents, THROTTLE))
    page = opened(chromium, tmp_path, recorder.recording(), "#agent=2&step=11")
    for agent in range(4):
        found = page.run("return replay.observationOf(replay.trials[0], arguments[0], 11)", agent)
        for name in ("controls", "goals"):
            stored = {full.partition("/")[2]: seen[11][agent, one.slice] / one.scale
                      for full, one in layout.items() if full.startswith(f"{name}/")}
            filled = stored["kind"] > 0
            assert filled.any() and len(found[name]) == filled.sum()
            for short, values in stored.items():
                assert [one[short] for one in found[name]] == pytest.approx(values[filled].tolist(), abs=0.01), short
        for control in found["controls"]:
            ends_m = np.array(control["line"]).ravel()
            assert np.abs(scene.traffic_controls.line_m - ends_m).max(axis=1).min() < 0.03
    page.run("document.getElementById('section-sets').open = true")
    page.rest()
    words = page.text("#section-sets")
    assert "current goal" in words and "goal 1 later" in words and "light, " in words and page.console() == []


def test_an_agent_that_respawns_jumps_to_its_start(chromium, tmp_path):
    """A car at 10 m/s is within 2.5 m of its goal at 20 m in step 18, and drives from 0 m again. Until then it
    is drawn where it was in step 17; its trail begins at the start, and the flash of the event is at the goal."""
    scene = bare_scene([(0.0, 0.0, 0.0)], goals=[(20.0, 0.0)], speeds=[10.0],
                       roads=[("lane", [(0.0, 0.0), (90.0, 0.0)])])
    recording = coasted(scene, 24, on_goal="respawn", goal_radius_m=2.5)
    page = opened(chromium, tmp_path, recording, "#agent=0")
    places = [page.run("return replay.poseAt(replay.trials[0], 0, arguments[0]).x", step)
              for step in (16.5, 17.5, 18, 18.5)]
    assert places == pytest.approx([16.5, 17.0, 0.0, 0.5], abs=0.02)
    # x of the points of all lines, and of all rings, that the pane draws between two steps
    draw = """
        const pane = replay.page.panes[0], lines = [], rings = [], context = CanvasRenderingContext2D.prototype;
        const {lineTo, arc} = context, metres = (right) => pane.camera().toScene(right, 0, pane.size)[0];
        context.lineTo = function (right, down) { lines.push(metres(right)); lineTo.call(this, right, down); };
        context.arc = function (right, ...more) { rings.push(metres(right)); arc.call(this, right, ...more); };
        replay.goTo(arguments[0]);
        replay.drawPage();
        Object.assign(context, {lineTo, arc});
        return [lines, rings];"""
    (_, before), (lines, rings) = page.run(draw, 12.5), page.run(draw, 20.5)
    lines = np.round(lines, 2).tolist()
    assert [0.0, 1.0, 2.0, 2.5] in [lines[i : i + 4] for i in range(len(lines))]
    assert (17.0, 0.0) not in zip(lines, lines[1:]) and (16.0, 17.0) in zip(lines, lines[1:])
    assert [np.isclose(found, 20.0).sum() for found in (before, rings)] == [1, 2]
    assert page.console() == []


def test_a_line_of_two_radii_shows_the_heading_of_a_goal(chromium, tmp_path):
    """Of two goals, one is on a lane along the y axis, and one on no lane. Both are drawn."""
    scene = bare_scene([(0.0, 0.0, 0.0), (30.0, 0.0, 0.0)], goals=[(10.0, 10.0), (40.0, 10.0)], speeds=[0.0, 0.0],
                       roads=[("lane", [(10.0, -20.0), (10.0, 40.0)])])
    with started(scene, goal_heading_tolerance_rad=0.2, goal_radius_m=3.0, observation={"goals": 1}) as batch:
        recorder = Recorder(batch)
        recorder.capture()
    page = opened(chromium, tmp_path, recorder.recording())
    drawn = page.run("""
        const pane = replay.page.panes[0], ends = [], context = CanvasRenderingContext2D.prototype, {lineTo} = context;
        context.lineTo = function (right, down) {
          ends.push(pane.camera().toScene(right, down, pane.size));
          lineTo.call(this, right, down);
        };
        replay.change({goals: true});
        replay.drawPage();
        context.lineTo = lineTo;
        return ends;""")
    assert np.isclose(drawn, (10.0, 16.0), atol=0.01).all(axis=1).any()
    assert not (np.hypot(*(np.array(drawn) - (40.0, 10.0)).T) < 6.5).any() and page.console() == []


def test_numbered_rings_show_the_goals_that_agents_observe_after_their_current_ones(chromium, tmp_path):
    """Of two agents, neither is selected; one has two further goals, of which its observation has both."""
    scene = bare_scene([(0.0, 0.0, 0.0), (30.0, 0.0, 0.0)], goals=[(10.0, 10.0), (40.0, 10.0)], speeds=[0.0, 0.0])
    scene = listed(scene, {0: [(20.0, 14.0), (30.0, 18.0)]})
    with started(scene, on_goal="next", goal_radius_m=3.0, observation={"goals": 3}) as batch:
        recorder = Recorder(batch)
        recorder.capture()
    page = opened(chromium, tmp_path, recorder.recording())
    drawn = page.run("""
        const pane = replay.page.panes[0], texts = [];
        const context = CanvasRenderingContext2D.prototype, {fillText} = context;
        context.fillText = function (text, right, down) {
          texts.push([text, ...pane.camera().toScene(right, down, pane.size)]);
          fillText.call(this, text, right, down);
        };
        replay.change({goals: true, agent: -1});
        replay.drawPage();
        context.fillText = fillText;
        return texts;""")
    found = {text: (x_m, y_m) for text, x_m, y_m in drawn}
    assert found["1"] == pytest.approx((20.0, 14.0), abs=0.05) and found["2"] == pytest.approx((30.0, 18.0), abs=0.05)
    assert "3" not in found and page.console() == []


def test_a_bridge_hides_the_car_below_it_and_what_it_observes_is_of_its_level(chromium, tmp_path):
    """The car below is in the middle of the crossing; the page computes what it observes anew."""
    cars = [driver(0.0, 0.0, 0.0, goal_m=(30.0, 30.0)), driver(0.0, 20.0, np.pi / 2, goal_m=(30.0, -30.0))]
    for height_m, colour, count in ((6.0, "--asphalt", 0), (0.0, "--state-0", 1)):
        batch = batch_of(overpass(height_m, cars), observation={"partners": 4, "roads": 12})
        recorder = Recorder(batch)
        recorder.capture()
        page = opened(chromium, tmp_path, recorder.recording())
        page.rest()
        drawn, wanted = page.pixel_and_style(-1.2, 0.5, colour)
        assert drawn == wanted
        vehicles, kinds = page.run("""
            const {vehicles, roads} = replay.observationOf(replay.trials[0], 0, 0);
            return [vehicles.length, roads.map((road) => road.kind)];""")
        layout = batch.observation_layout()
        stored = batch.observations[0, layout["roads/kind"].slice] / layout["roads/kind"].scale
        assert vehicles == count and sorted(kinds) == sorted(stored.round().tolist())  # in the order of the grid
        assert page.console() == []


def test_the_page_shows_actions_and_observations_of_disturbed_steps(chromium, tmp_path):
    """Of agents that brake whatever their action is; these steps have `invalid_step`, as those of waiting agents."""
    config = DriveConfig(disturbances={"phantom_braking": 1.0, "trigger_probability": 1.0}, action_type="continuous",
                         on_collision="ignore", on_offroad="ignore")
    with Batch(generate_scene("intersection", seed=1, agents=12), config=config) as batch:
        recorder = Recorder(batch)
        batch.reset()
        recorder.capture()
        for _ in range(3):
            batch.actions[:] = 0.25
            batch.step(batch.actions)
            recorder.capture()
        agent = np.flatnonzero(batch.invalid_step & (batch.vehicles()["speed_mps"] > 1.0))[0]
        x, kind = (batch.observation_layout()[f"partners/{name}"] for name in ("x", "kind"))
        ahead_m = (batch.observations[agent, x.slice] / x.scale)[batch.observations[agent, kind.slice] > 0]
    page = opened(chromium, tmp_path, recorder.recording(), f"#agent={agent}&step=3")
    page.rest()
    seen_m = page.run(f"return replay.observationOf(replay.trials[0], {agent}, 3).vehicles.map(({{ahead}}) => ahead)")
    assert seen_m == pytest.approx(ahead_m.tolist(), abs=0.02)
    words = page.text("#section-now")
    assert "+0.25" in words and "none" not in words and "phantom_braking on" in words and "partner" not in words


def test_the_page_names_the_disturbance_that_is_on_and_a_blind_agent_observes_no_vehicles(chromium, tmp_path):
    disturbances = {"partner_blindness": 1.0, "phantom_braking": 1.0, "trigger_probability": 0.1, "duration_s": 0.5}
    with started(generate_scene("intersection", seed=1, agents=6), disturbances=disturbances, trial_steps=25,
                 on_collision="ignore", on_offroad="ignore", observation={"partners": 5}) as batch:
        recorder, kind, filled, left = Recorder(batch), batch.observation_layout()["partners/kind"].slice, [], []
        for _ in range(25):
            recorder.capture()
            filled.append((batch.observations[:, kind] > 0).sum(axis=1))
            left.append([batch._core.state[name][0] > 0 for name in ("blind_steps", "braking_steps")])
            drive(batch)
    (blind, braking), filled = np.moveaxis(np.array(left), 1, 0), np.array(filled)
    assert blind.any() and braking.any() and not filled[blind].any()
    trial = recorder.recording().trials[0]
    assert (trial.blind == blind).all() and (trial.braking == braking).all()
    page = opened(chromium, tmp_path, recorder.recording(), "#agent=0")
    for step, agent in np.argwhere(blind | braking)[::7].tolist():
        page.run("replay.selectAgent(arguments[0]); replay.goTo(arguments[1])", agent, step)
        page.rest()
        words = page.text("#section-now")
        assert ("partner_blindness on" in words) == blind[step, agent]
        assert ("phantom_braking on" in words) == braking[step, agent]
        count = "return replay.observationOf(replay.trials[0], arguments[0], arguments[1]).vehicles.length"
        assert page.run(count, agent, step) == filled[step, agent]
    assert page.console() == []


def test_the_legend_has_log_replay_vehicles_where_rule_based_ones_are_handed_back(chromium, tmp_path):
    log = log_replay([(float(x_m), 0.0, 0.0, 10.0) for x_m in range(10)], expert=False, goal_m=(0.0, 0.0))
    with batch_of(stage([driver(0.0, 30.0), log]), others="idm", idm_handback_m=1.0, agents_per_world=1) as batch:
        recorder = Recorder(batch)
        recorder.capture()
        batch.step(np.array([BRAKE_ACTION]))
        recorder.capture()
    page = opened(chromium, tmp_path, recorder.recording())
    assert page.text(".others").split() == "Without an agent: log-replay vehicle rule-based vehicle".split()


def test_an_address_opens_its_trial_step_and_agent(page):
    page.open(DESKTOP, "#trial=1&beside=2&step=33&agent=5")
    view = page.view()
    assert (view["trials"], view["step"], view["agent"]) == ([1, 2], 33, 5)
    page.run("replay.goTo(34)")
    page.rest()
    assert page.driver.current_url.endswith("#trial=1&beside=2&step=34&agent=5")
    page.open(DESKTOP, "#trial=99&step=-4&agent=x")
    assert (page.view()["trials"], page.view()["step"], page.view()["agent"]) == ([0], 0, -1)


@pytest.mark.parametrize("size", [PHONE, (800, 400), DESKTOP, (1920, 1080)], ids="{0[0]}x{0[1]}".format)
def test_nothing_is_cut_off_at_any_size(page, size):
    page.open(size)
    page.run("replay.compare(true); replay.selectAgent(3)")
    page.rest()
    width, height = size
    scroll = page.run("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert scroll == [width, height]
    for selector in ("header button", "#transport button", "#timeline canvas", ".pane", "#panel"):
        for element in page.driver.find_elements("css selector", selector):
            box = page.run("""
                const {left, top, right, bottom} = arguments[0].getBoundingClientRect();
                return [left, top, right, bottom];""", element)
            assert box[0] >= 0 and box[1] >= 0 and box[2] <= width + 0.5, (selector, box)
            assert box[2] - box[0] >= 28 and box[3] - box[1] >= 28, (selector, box)
            if selector != "#timeline canvas":
                assert box[3] <= height + 0.5, (selector, box)


def test_every_control_has_a_name(page):
    nameless = page.run("""
        const hasName = (node) =>
          node.getAttribute("aria-label") || node.closest("label") || node.textContent.trim();
        return [...document.querySelectorAll("button, select, canvas, summary")]
          .filter((node) => node.offsetParent && !hasName(node)).map((node) => node.outerHTML);""")
    assert nameless == []


def test_it_is_dark_if_the_system_is(page):
    light = page.run("return getComputedStyle(document.body).backgroundColor")
    prefers_dark = {"name": "prefers-color-scheme", "value": "dark"}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [prefers_dark]})
    page.rest()
    dark = page.run("return getComputedStyle(document.body).backgroundColor")
    assert dark != light
    page.press("l")
    assert page.run("return getComputedStyle(document.body).backgroundColor") == light
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_page_inflates_the_recording_in_an_old_browser(page):
    fast = page.run("return [replay.trials.length, ...replay.trials[1].x.slice(0, 500)]")
    added = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
        "source": "delete window.DecompressionStream"})
    page.open(DESKTOP)
    assert page.run("return typeof DecompressionStream") == "undefined"
    assert page.run("return [replay.trials.length, ...replay.trials[1].x.slice(0, 500)]") == fast
    page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_a_damaged_page_says_so(chromium, played, tmp_path):
    html = played[0].read_text()
    start = html.index('id="recording">') + 400
    damaged = tmp_path / "damaged.html"
    damaged.write_text(html[:start] + "AAAA" * 50 + html[start + 200 :])
    chromium.get(f"file://{damaged}")
    Opened(chromium, damaged).wait_for("return document.querySelector('.failure') !== null")
    assert "The replay cannot be shown" in chromium.find_element("css selector", "#stage").text
