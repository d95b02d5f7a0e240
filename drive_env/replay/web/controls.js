/* Which input does what? Pointer, keys and buttons; all of them change the view state alone. */

/* A pointer that moves less than this before its release clicks. */
const DRAG_THRESHOLD_PX = 5;
/* Logarithm of the zoom factor per pixel of the wheel; some wheels report lines. */
const WHEEL_ZOOM = 0.0015;
const WHEEL_LINE_PX = 30;
const KEY_ZOOM = 1.25;
const KEY_MOVE_PX = 60;
const FAR_STEPS = 10;

/* ---- pointer on a pane ---- */

class PanePointer {
  constructor(pane) {
    this.pane = pane;
    this.down = new Map();
    this.moved = 0;
    const {canvas} = pane;
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.down.delete(event.pointerId));
    canvas.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
  }

  press(event) {
    if (event.button !== 0) return;
    this.pane.canvas.setPointerCapture(event.pointerId);
    if (!this.down.size) this.moved = 0;
    this.down.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (view.active !== this.pane.index) change({active: this.pane.index});
  }

  move(event) {
    const before = this.down.get(event.pointerId);
    if (!before) return;
    const now = [event.offsetX, event.offsetY], dx = now[0] - before[0], dy = now[1] - before[1];
    this.moved += Math.hypot(dx, dy);
    if (this.moved < DRAG_THRESHOLD_PX) return;
    if (this.down.size === 2) this.pinch(event.pointerId, now);
    else drag(this.pane, dx, dy);
    this.down.set(event.pointerId, now);
  }

  pinch(id, now) {
    const before = this.down.get(id), [, other] = [...this.down].find(([otherId]) => otherId !== id);
    const spanBefore = Math.hypot(before[0] - other[0], before[1] - other[1]);
    const span = Math.hypot(now[0] - other[0], now[1] - other[1]);
    zoom(this.pane, span / Math.max(spanBefore, 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    drag(this.pane, (now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
  }

  release(event) {
    if (!this.down.delete(event.pointerId) || this.moved >= DRAG_THRESHOLD_PX || this.down.size) return;
    selectAgent(this.pane.agentAt(event.offsetX, event.offsetY));
  }

  wheel(event) {
    event.preventDefault();
    const scroll_px = event.deltaY * (event.deltaMode ? WHEEL_LINE_PX : 1);
    zoom(this.pane, Math.exp(-WHEEL_ZOOM * scroll_px), event.offsetX, event.offsetY);
  }
}

/* Dragging ends following; zooming does not. */
function drag(pane, dx, dy) {
  stopFollowing(pane);
  cameraOf(pane.trial.scene, pane.size).moveBy(dx, dy);
  requestDraw();
}

function stopFollowing(pane) {
  if (!view.follow) return;
  const {x, y} = pane.camera();
  Object.assign(cameraOf(pane.trial.scene, pane.size), {x, y, fitted: null});
  change({follow: false});
}

function zoom(pane, factor, right = pane.size.width / 2, down = pane.size.height / 2) {
  cameraOf(pane.trial.scene, pane.size).zoomAt(factor, right, down, pane.size);
  requestDraw();
}

function fitAll(panes) {
  change({follow: false});
  for (const pane of panes) cameraOf(pane.trial.scene, pane.size).fit(boxes.get(pane.trial.scene), pane.size);
}

/* ---- commands, by the names in KEYS and data-does ---- */

function makeCommands(page) {
  const activePane = () => page.panes[Math.min(view.active, page.panes.length - 1)];
  const move = (right, down) => drag(activePane(), KEY_MOVE_PX * right, KEY_MOVE_PX * down);
  const speedBy = (steps) => {
    const index = SPEEDS.indexOf(view.speed) + steps;
    change({speed: SPEEDS[Math.max(0, Math.min(index, SPEEDS.length - 1))]});
  };
  const stepAgent = (steps) => {
    const agents = Math.min(...shownTrials().map((trial) => trial.agents));
    selectAgent(view.agent < 0 ? (steps > 0 ? 0 : agents - 1) : (view.agent + steps + agents) % agents);
  };
  const toggle = (name) => () => change({[name]: !view[name]});
  return {
    play: () => play(!view.playing),
    back: () => goBy(-1), on: () => goBy(1), farBack: () => goBy(-FAR_STEPS), farOn: () => goBy(FAR_STEPS),
    start: () => goTo(0), end: () => goTo(lastShownStep()),
    trialBack: () => showTrial(view.trials[view.active] - 1, 0),
    trialOn: () => showTrial(view.trials[view.active] + 1, 0),
    slower: () => speedBy(-1), faster: () => speedBy(1),
    nextAgent: () => stepAgent(1), previousAgent: () => stepAgent(-1),
    follow: () => view.agent >= 0 && change({follow: !view.follow}),
    compare: () => trials.length > 1 && compare(!isComparing()),
    observation: toggle("observation"), trails: toggle("trails"), goals: toggle("goals"), names: toggle("names"),
    fit: () => fitAll(page.panes),
    zoomIn: () => zoom(activePane(), KEY_ZOOM), zoomOut: () => zoom(activePane(), 1 / KEY_ZOOM),
    left: () => move(1, 0), right: () => move(-1, 0), up: () => move(0, 1), down: () => move(0, -1),
    theme: switchTheme, help: () => page.help.showModal(), deselect: () => selectAgent(-1),
  };
}

/* ---- keys ---- */

const KEYS = {
  " ": "play", k: "play", "<": "slower", ">": "faster",
  ArrowLeft: "back", ArrowRight: "on", "Shift+ArrowLeft": "farBack", "Shift+ArrowRight": "farOn",
  Home: "start", End: "end", "[": "trialBack", "]": "trialOn",
  n: "nextAgent", p: "previousAgent", Escape: "deselect",
  f: "follow", c: "compare", o: "observation", t: "trails", g: "goals", i: "names", l: "theme", "?": "help",
  0: "fit", "+": "zoomIn", "=": "zoomIn", "-": "zoomOut", a: "left", d: "right", w: "up", s: "down",
};

function listenToKeys(commands, help) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || usesKey(event)) return;
    const arrow = event.key.startsWith("Arrow") && event.shiftKey;
    const name = KEYS[arrow ? `Shift+${event.key}` : event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!name) return;
    event.preventDefault();
    commands[name]();
  });
}

/* Whether the focused element handles the key itself. */
function usesKey(event) {
  const {tagName} = event.target;
  if (tagName === "SELECT" || tagName === "INPUT") return event.key !== "Escape";
  return (tagName === "BUTTON" || tagName === "SUMMARY") && (event.key === " " || event.key === "Enter");
}

/* ---- buttons ---- */

/* `data-does` names a button's command, `data-shows` the field of the view that it toggles. */
function connectButtons(commands) {
  for (const button of document.querySelectorAll("[data-does]"))
    button.addEventListener("click", () => commands[button.dataset.does]());
  const speed = document.getElementById("speed");
  speed.addEventListener("change", () => change({speed: Number(speed.value)}));
}

function refreshButtons() {
  for (const button of document.querySelectorAll("[data-shows]")) {
    const {shows} = button.dataset, isOn = shows === "compare" ? isComparing() : Boolean(view[shows]);
    setIfChanged(button, "aria-pressed", String(isOn));
  }
  const isAgent = view.agent >= 0;
  document.querySelector('[data-does="follow"]').disabled = !isAgent;
  document.querySelector('[data-does="compare"]').disabled = trials.length < 2;
  setIfChanged(document.querySelector('[data-does="play"]'), "aria-label", view.playing ? "Pause" : "Play");
  document.body.classList.toggle("playing", view.playing);
  const speed = document.getElementById("speed");
  if (speed.value !== String(view.speed)) speed.value = String(view.speed);
}

function setIfChanged(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}

/* ---- theme ---- */

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let isThemeSelected = false;

/* The system's theme, until the user selects one. */
function useSystemTheme() {
  const apply = () => isThemeSelected || setTheme(prefersDark.matches ? "dark" : "light");
  prefersDark.addEventListener("change", apply);
  apply();
}

function switchTheme() {
  isThemeSelected = true;
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  clearColours();
  requestDraw();
}
