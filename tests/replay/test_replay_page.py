"""Does the replay page play, and does it show what was recorded? In a headless Chromium, without a network."""

import numpy as np
import pytest
from opened_page import DESKTOP, PHONE, WATCHED
from replay_reader import Page

from drive_env import REWARD_TERMS

# ---- playing ----


def test_it_opens_on_the_first_step_and_shows_a_map_and_cars(page):
    assert page.run("return document.title") == "A test"
    assert page.view()["step"] == 0 and page.view()["trials"] == [0]
    assert page.colours(".pane canvas") > 10 and page.colours("#timeline canvas") > 10
    assert "step 0 of 200" in page.text(".caption")


def test_it_plays_in_real_time_times_the_speed_and_pauses(page, record_property):
    for speed in (1, 4):
        page.run("replay.goTo(0); replay.change({speed: arguments[0]}); replay.play(true)", speed)
        steps, seconds, frames = page.driver.execute_async_script("""
            const done = arguments[0], from = performance.now();
            let frames = 0;
            const watch = (now) => {
              frames++;
              if (now - from < 1500) requestAnimationFrame(watch);
              else done([replay.view.step, (now - from) / 1000, frames]);
            };
            requestAnimationFrame(watch);""")
        assert steps == pytest.approx(10 * speed * seconds, rel=0.35)
        record_property(f"frames_per_second_at_speed_{speed}", round(frames / seconds, 1))
        print(f"speed {speed}: {frames / seconds:.1f} frames a second")
    page.click("[data-does=play]")
    paused_at = page.view()["step"]
    page.rest()
    assert not page.view()["playing"] and page.view()["step"] == paused_at < 200


def test_the_next_trial_follows_a_trial_and_playing_stops_after_the_last(page):
    page.run("replay.change({speed: 8}); replay.goTo(199); replay.play(true)")
    page.wait_for("return replay.view.trials[0] === 1 && replay.view.step > 0")
    page.run("replay.showTrial(2); replay.goTo(replay.trials[2].lastStep - 1)")
    page.wait_for("return !replay.view.playing")
    assert page.view()["step"] == page.run("return replay.trials[2].lastStep")


def test_the_timeline_scrubs_and_changes_trials(page):
    box = page.run("""
        const {timeline} = replay.page;
        return [timeline.toX(50), timeline.topOf(0) + 8, timeline.toX(120), timeline.topOf(2) + 8];""")
    page.click_at("#timeline canvas", box[0], box[1])
    assert page.view()["trials"] == [0] and abs(page.view()["step"] - 50) <= 1
    page.click_at("#timeline canvas", box[2], box[3])
    assert page.view()["trials"] == [2] and abs(page.view()["step"] - 120) <= 1


def test_keys_do_what_the_help_says(page):
    from selenium.webdriver import Keys

    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    assert page.view()["step"] == 1
    page.press(Keys.END)
    assert page.view()["step"] == page.run("return replay.trials[0].lastStep")
    page.press(Keys.HOME, "]", "n", "n")
    assert (page.view()["step"], page.view()["trials"], page.view()["agent"]) == (0, [1], 1)
    page.press("p", ">", "g", "c")
    assert (page.view()["agent"], page.view()["speed"], page.view()["goals"]) == (0, 2, True)
    assert len(page.view()["trials"]) == 2
    page.press("c", Keys.ESCAPE, "?")
    assert page.view()["agent"] == -1 and page.run("return replay.page.help.open")
    page.press(Keys.ESCAPE)
    assert not page.run("return replay.page.help.open")
    page.press(" ")
    assert page.view()["playing"]


def test_wheel_keys_and_dragging_move_the_camera(page):
    from selenium.webdriver import ActionChains

    camera = "const pane = replay.page.panes[0], {x, y, scale} = pane.camera(); return [x, y, scale]"
    x, y, scale = page.run(camera)
    page.press("+")
    assert page.run(camera) == pytest.approx([x, y, 1.25 * scale])
    canvas = page.driver.find_element("css selector", ".pane canvas")
    held = ActionChains(page.driver, duration=0).move_to_element(canvas).click_and_hold()
    held.move_by_offset(50, 20).release().perform()
    assert page.run(camera) == pytest.approx([x - 50 / (1.25 * scale), y + 20 / (1.25 * scale), 1.25 * scale])
    page.run("""document.querySelector('.pane canvas').dispatchEvent(
        new WheelEvent('wheel', {deltaY: 200, offsetX: 10, clientX: 10, clientY: 100, cancelable: true}))""")
    assert page.run(camera)[2] < scale
    page.press("0")
    assert page.run(camera) == pytest.approx([x, y, scale])


def test_two_fingers_zoom(page):
    page.open(PHONE)
    scale = page.run("return replay.page.panes[0].camera().scale")
    page.driver.execute_cdp_cmd("Input.synthesizePinchGesture", {
        "x": 200, "y": 250, "scaleFactor": 2, "gestureSourceType": "touch"})
    page.rest()
    assert page.run("return replay.page.panes[0].camera().scale") > 1.5 * scale


# ---- an agent ----


def test_a_click_on_a_car_shows_its_panel(page, played):
    page.run("replay.goTo(30)")
    page.rest()
    agent = WATCHED[1]
    page.click_at(".pane canvas", *page.place_of(agent))
    assert page.view()["agent"] == agent
    assert page.text("#panel h2") == f"agent_{agent}"
    speed = played[1][0, 30, agent][played[2]["ego/speed"].slice][0] / played[2]["ego/speed"].scale
    assert f"{speed:.1f} m/s" in page.text("#section-now")
    for section in ("channels", "own", "vehicles", "roads"):
        page.run("document.getElementById(arguments[0]).open = true", f"section-{section}")
    page.rest()
    for section, words in (("channels", "trial_index"), ("own", "ego/goal_distance"),
                           ("vehicles", " of 8 slots filled"), ("roads", "of 40 slots")):
        assert words in page.text(f"#section-{section}")
    page.click(".identity .close")
    assert page.view()["agent"] == -1 and "Outcomes" in page.text("#panel")


def test_following_keeps_the_agent_in_the_middle(page):
    page.run("replay.selectAgent(2); replay.change({follow: true}); replay.goTo(77)")
    page.rest()
    size = page.run("return replay.page.panes[0].size")
    assert page.place_of(2) == pytest.approx([size["width"] / 2, size["height"] / 2])


def test_events_are_listed_up_to_the_step_and_lead_to_it(page):
    event = page.run("return replay.trials[0].events.find((event) => event.state === 2)")
    page.run("replay.selectAgent(arguments[0]); replay.goTo(arguments[1])", event["agent"], event["frame"] - 1)
    page.rest()
    assert "none yet" in page.text("#section-events") and "driving" in page.text("#section-now")
    page.run("replay.goTo(arguments[0])", event["frame"])
    page.rest()
    words = page.text("#section-events")
    assert f"step {event['frame']}" in words and "collision" in words and "\u22120.50" in words
    assert "collision" in page.text("#section-now")
    partners = "return replay.newOverlaps(replay.trials[0], arguments[0], arguments[1])"
    assert page.run(partners, event["agent"], event["frame"])


def test_what_was_drawn_for_the_agent_is_on_the_panel(page, played):
    recorded = Page(played[0].read_text())
    for agent in WATCHED:
        page.run("replay.selectAgent(arguments[0])", agent)
        page.rest()
        weight = recorded.array("trial0/weights")[REWARD_TERMS.index("offroad"), agent]
        gain = recorded.array("trial0/hidden")[0, agent]
        words = page.text("#section-drawn")
        assert f"offroad \u2212{-weight:.3f}" in words and f"throttle_gain {gain:.3f}" in words
    # An agent with an event has a row of the reward for it, whose title is the drawn weight.
    agent = page.run("return replay.trials[0].events.find(({name}) => name === 'offroad').agent")
    weight = recorded.array("trial0/weights")[REWARD_TERMS.index("offroad"), agent]
    page.run("replay.selectAgent(arguments[0])", agent)
    page.rest()
    assert f"\u2212{-weight:.3f} each" in page.run(
        "return [...document.querySelectorAll('#section-reward th')].map((one) => one.title).join()")


def filled_slots(observation, layout, *names):
    """(slots, names) quantities."""
    filled = observation[layout[f"{names[0].partition('/')[0]}/kind"].slice] > 0
    return np.stack([observation[layout[name].slice][filled] / layout[name].scale for name in names], axis=1)


def test_the_page_shows_the_recorded_observation(page, played):
    _, observed, layout = played
    script = """
        return arguments[0].map(([trial, frame, agent]) => {
          const pose = replay.poseAt(replay.trials[trial], agent, frame);
          const {own, vehicles, roads} = replay.observationOf(replay.trials[trial], agent, frame);
          return {own, vehicles: vehicles.map((one) => [one.ahead, one.left, one.speed]),
                  roads: roads.map((one) => [one.kind, Math.hypot(one.dx, one.dy),
                                             Math.hypot(one.x - pose.x, one.y - pose.y)])};
        });"""
    moments = list(observed)
    for moment, on_page in zip(moments, page.run(script, moments), strict=True):
        observation = observed[moment]
        for name, value in on_page["own"].items():
            stored = observation[layout[name].offset]
            assert value * layout[name].scale == pytest.approx(stored, abs=2e-5), (moment, name)
        vehicles = filled_slots(observation, layout, "partners/x", "partners/y", "partners/speed")
        assert np.array(on_page["vehicles"]).reshape(-1, 3) == pytest.approx(vehicles, abs=0.03), moment
        # The core orders segments in its own way. Among those that tie for the largest distance observed, the page may
        # have selected another one, since its poses are rounded to centimetres.
        kind, half_m, x_m, y_m = filled_slots(observation, layout, *(
            f"roads/{name}" for name in ("kind", "half_length", "x", "y"))).T
        stored, drawn = np.stack([kind, half_m, np.hypot(x_m, y_m)], axis=1), np.array(on_page["roads"]).reshape(-1, 3)
        is_same = (np.abs(drawn[:, None] - stored[None]) < (1e-3, 1e-3, 0.03)).all(axis=2)
        lone_m = np.concatenate([drawn[~is_same.any(axis=1), 2], stored[~is_same.any(axis=0), 2]])
        assert len(drawn) == len(stored), moment
        assert lone_m == pytest.approx(np.full(len(lone_m), stored[:, 2].max(initial=0.0)), abs=0.03), moment


# ---- two trials ----


def test_two_trials_play_side_by_side_at_one_step(page):
    page.run("replay.goTo(40)")
    page.click("[data-does=compare]")
    assert page.view()["trials"] == [0, 1]
    assert len(page.driver.find_elements("css selector", ".pane canvas")) == 2
    page.run("replay.showTrial(2); replay.selectAgent(5)")
    page.rest()
    captions = [caption.text for caption in page.driver.find_elements("css selector", ".caption .step")]
    assert captions == ["step 40 of 200", f"step 40 of {page.run('return replay.trials[2].lastStep')}"]
    assert "trial 1" in page.text("#section-now thead") and "trial 3" in page.text("#section-now thead")
    assert "More than 1 m apart from" in page.text("#panel")
    picture = "return replay.page.panes[arguments[0]].canvas.toDataURL()"
    assert page.run(picture, 0) != page.run(picture, 1)
    page.run("replay.compare(false)")
    page.rest()
    assert len(page.driver.find_elements("css selector", ".pane")) == 1 and page.view()["trials"] == [2]


@pytest.mark.parametrize("size, beside", [(DESKTOP, "left"), (PHONE, "top")], ids=["desktop", "phone"])
def test_two_trials_are_beside_each_other_or_on_a_phone_above_each_other(page, size, beside):
    page.open(size, "#trial=0&beside=1")
    box_of = """
        const box = replay.page.panes[arguments[0]].root.getBoundingClientRect();
        return {left: box.left, top: box.top, area: box.width * box.height};"""
    one, other = (page.run(box_of, pane) for pane in (0, 1))
    assert [name for name in ("left", "top") if other[name] > one[name]] == [beside]
    assert other["area"] == pytest.approx(one["area"], rel=0.03)


def test_the_shorter_of_two_trials_waits_for_the_longer(page):
    last = page.run("return replay.trials[2].lastStep")
    assert last < 200
    page.run("replay.compare(true); replay.showTrial(2); replay.goTo(200)")
    page.rest()
    captions = [caption.text for caption in page.driver.find_elements("css selector", ".caption .step")]
    assert captions == ["step 200 of 200", f"ended at {last} of {last}"]
