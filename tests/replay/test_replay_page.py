"""Does the replay page play, and does it show what was recorded? In a headless Chromium, without a network."""

import time

import numpy as np
import pytest

from drive_env import Batch, DriveConfig, generate_scene
from drive_env.drivers import LaneDriver
from drive_env.replay import Recorder, record

DESKTOP, PHONE = (1280, 800), (400, 800)

PATIENCE_S = 20
"""A loaded machine starts a browser slowly."""

TRIALS = 3
WATCHED = (0, 3, 6)
"""Agents whose observations are compared, every tenth step."""


class Learner(LaneDriver):
    """Odd agents steer and brake at random, less often from trial to trial: collisions first, goals later."""

    def __init__(self, batch):
        super().__init__(batch)
        self._rng = np.random.default_rng(0)

    def act_all(self):
        actions = super().act_all()
        wavers = self._rng.random(len(actions)) < (0.7, 0.3, 0.0)[int(self.batch.trial_index[0])]
        at_random = 13 * self._rng.integers(2, 5, len(actions)) + self._rng.integers(0, 13, len(actions))
        return np.where(wavers & (np.arange(len(actions)) % 2 == 1), at_random, actions)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The path of a page, observation vectors by (trial, frame, agent), and the layout."""
    path, observed = tmp_path_factory.mktemp("replay") / "page.html", {}
    config = DriveConfig(max_trials=TRIALS, observation={"partners": 8, "roads": 40})
    with Batch(generate_scene("town", seed=3, agents=24), config=config) as batch:
        recorder, driver = Recorder(batch), Learner(batch)
        batch.reset()
        trial = frame = 0
        while trial < TRIALS:
            recorder.capture()
            if frame % 10 == 0:
                observed |= {(trial, frame, agent): batch.observations[agent].copy() for agent in WATCHED}
            trial, frame = (trial + 1, 0) if batch.trial_ended[0] else (trial, frame + 1)
            batch.step(driver.act_all())
        recorder.recording().save_html(path, title="A test")
        layout = batch.observation_layout()
    return path, observed, layout


@pytest.fixture
def page(chromium, played):
    """The page, opened at a desktop's size; at the end the console must be empty."""
    opened = Opened(chromium, played[0])
    opened.open(DESKTOP)
    yield opened
    assert opened.console() == []


class Opened:
    """A replay page in a browser."""

    def __init__(self, driver, path):
        self.driver, self.path = driver, path

    def open(self, size, hash=""):
        width, height = size
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE})
        self.driver.get("about:blank")
        self.console()
        self.driver.get(f"file://{self.path}{hash}")
        self.wait_for("return document.body.className === '' && window.replay?.page.panes.length > 0")

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait_for(self, script):
        give_up_at = time.monotonic() + PATIENCE_S
        while not self.run(script):
            assert time.monotonic() < give_up_at, script
            time.sleep(0.02)

    def rest(self):
        """Waits until a requested frame is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));")

    def view(self):
        return self.run("return {...replay.view}")

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver, duration=0).send_keys(*keys).perform()
        self.rest()

    def click(self, selector):
        self.driver.find_element("css selector", selector).click()
        self.rest()

    def click_at(self, selector, right, down):
        """A click that many pixels from the top left corner of an element."""
        from selenium.webdriver import ActionChains

        element = self.driver.find_element("css selector", selector)
        box = element.rect
        ActionChains(self.driver, duration=0).move_to_element_with_offset(
            element, round(right - box["width"] / 2), round(down - box["height"] / 2)).click().perform()
        self.rest()

    def text(self, selector):
        return self.driver.find_element("css selector", selector).text

    def colours(self, selector):
        """Number of different colours on a canvas."""
        return self.run("""
            const canvas = document.querySelector(arguments[0]), found = new Set();
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            for (let i = 0; i < data.length; i += 4)
              found.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
            return found.size;""", selector)

    def place_of(self, agent):
        """Pixel of its pane at which an agent is drawn."""
        return self.run("""
            const pane = replay.page.panes[0], trial = pane.trial;
            const i = arguments[0] * trial.frames + Math.floor(replay.view.step);
            return pane.camera().toScreen(trial.x[i], trial.y[i], pane.size);""", agent)


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


def filled_slots(observation, layout, *names):
    """(slots, names) quantities."""
    filled = observation[layout[f"{names[0].partition('/')[0]}/kind"].slice] > 0
    return np.stack([observation[layout[name].slice][filled] / layout[name].scale for name in names], axis=1)


def test_the_page_shows_the_recorded_observation(page, played):
    _, observed, layout = played
    script = """
        return arguments[0].map(([trial, frame, agent]) => {
          const {own, vehicles, roads} = replay.observationOf(replay.trials[trial], agent, frame);
          return {own, vehicles: vehicles.map((one) => [one.ahead, one.left, one.speed]),
                  roads: roads.map((one) => [one.kind, Math.hypot(one.dx, one.dy)])};
        });"""
    moments = list(observed)
    for moment, on_page in zip(moments, page.run(script, moments), strict=True):
        observation = observed[moment]
        for name, value in on_page["own"].items():
            stored = observation[layout[name].offset]
            assert value * layout[name].scale == pytest.approx(stored, abs=2e-5), (moment, name)
        vehicles = filled_slots(observation, layout, "partners/x", "partners/y", "partners/speed")
        assert np.array(on_page["vehicles"]).reshape(-1, 3) == pytest.approx(vehicles, abs=0.03), moment
        # The core has an order of segments of its own.
        roads = filled_slots(observation, layout, "roads/kind", "roads/half_length")
        shown = np.sort(np.array(on_page["roads"]).reshape(-1, 2), axis=0)
        assert shown == pytest.approx(np.sort(roads, axis=0), abs=1e-3), moment


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
    assert "trial 0" in page.text("#section-now thead") and "trial 2" in page.text("#section-now thead")
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


# ---- other recordings ----


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


@pytest.mark.parametrize("make", [
    an_agent_alone_with_no_slots, a_trial_that_was_not_finished, episodes_on_two_scenes])
def test_it_shows(chromium, tmp_path, make):
    recording = make()
    recording.save_html(tmp_path / "page.html")
    page = Opened(chromium, tmp_path / "page.html")
    page.open(DESKTOP)
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


# ---- addresses, sizes, themes, browsers ----


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
