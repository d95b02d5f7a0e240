"""How do tests open and use a replay page in a browser?"""

import time

DESKTOP, PHONE = (1280, 800), (400, 800)

PATIENCE_S = 20
"""A loaded machine starts a browser slowly."""

TRIALS = 3
WATCHED = (0, 3, 6)
"""Agents whose observations are compared, every tenth step."""


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

    def pixel_and_style(self, x_m, y_m, style):
        """The colour of the first pane at a point of the scene and that of a CSS property, both as "#rrggbb"."""
        return self.run("""
            const pane = replay.page.panes[0], [x, y, style] = arguments;
            const [right, down] = pane.camera().toScreen(x, y, pane.size).map((one) => one * pane.size.ratio);
            const copy = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
            copy.drawImage(pane.canvas, -Math.round(right), -Math.round(down));
            const [red, green, blue] = copy.getImageData(0, 0, 1, 1).data;
            const hex = "#" + [red, green, blue].map((one) => one.toString(16).padStart(2, "0")).join("");
            return [hex, getComputedStyle(document.documentElement).getPropertyValue(style).trim()];""",
            x_m, y_m, style)

    def place_of(self, agent):
        """Pixel of its pane at which an agent is drawn."""
        return self.run("""
            const pane = replay.page.panes[0], trial = pane.trial;
            const i = arguments[0] * trial.frames + Math.floor(replay.view.step);
            return pane.camera().toScreen(trial.x[i], trial.y[i], pane.size);""", agent)
