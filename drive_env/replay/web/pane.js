/* What shows one trial? A canvas with a caption; two panes of one scene share a camera. */

const MAX_PIXEL_RATIO = 2;
/* A click this close to a vehicle selects it. */
const CLICK_REACH_PX = 14;

class Pane {
  constructor(index) {
    this.index = index;
    this.layer = new GroundLayer();
    this.size = {width: 1, height: 1, ratio: 1};
    this.canvas = element("canvas", {
      role: "img", "aria-label": "The map and its vehicles; the panel describes the same in text"});
    this.context = this.canvas.getContext("2d", {alpha: false});
    this.choice = element("select", {
      "aria-label": index ? "Trial in the second pane" : "Trial",
      onchange: (event) => {
        view.active = this.index;
        showTrial(Number(event.target.value));
      },
    }, ...trials.map((trial) => element("option", {value: trial.number}, trialName(recording, trial))));
    this.cells = new LiveCells();
    const step = this.cells.text("span", () => this.stepText(), {class: "step"});
    const counts = [DRIVING, GOAL, COLLISION, OFFROAD, TIMEOUT, OTHER].map((state) => this.countOf(state));
    this.root = element("div", {class: "pane"}, this.canvas,
      element("div", {class: "caption"}, this.choice, step, ...counts));
  }

  get trial() {
    return trials[view.trials[this.index]];
  }

  /* A state and how many agents are in it; hidden at 0. */
  countOf(state) {
    const number = element("span"), root = element("span", {class: "count"}, markOf(state), number);
    this.cells.add(() => countStates(this.trial, clampStep(this.trial, view.step))[state], (count) => {
      root.hidden = count === 0;
      number.textContent = count;
    });
    return root;
  }

  stepText() {
    const {trial} = this, step = clampStep(trial, view.step);
    const ended = step === trial.lastStep && view.step > trial.lastStep ? "ended at " : "step ";
    return `${ended}${step} of ${trial.lastStep}`;
  }

  fitToRoot() {
    const ratio = Math.min(window.devicePixelRatio || 1, MAX_PIXEL_RATIO);
    const width = Math.max(1, this.root.clientWidth), height = Math.max(1, this.root.clientHeight);
    if (this.size.width === width && this.size.height === height && this.size.ratio === ratio) return;
    this.size = {width, height, ratio};
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  /* The scene's camera, centred on the selected agent if it is followed. */
  camera() {
    const shared = cameraOf(this.trial.scene, this.size);
    if (!view.follow || view.agent < 0) return shared;
    const own = Object.assign(new Camera(), shared), pose = poseAt(this.trial, view.agent, view.step);
    own.x = pose.x;
    own.y = pose.y;
    return own;
  }

  draw(now_ms) {
    const {context, size, trial} = this, step = Math.min(view.step, trial.lastStep);
    const brush = {context, size, camera: this.camera()};
    context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    const ground = groundOf(trial.scene);
    this.layer.show(context, ground, brush.camera, size, now_ms);
    const other = isComparing() ? trials[view.trials[1 - this.index]] : null;
    drawControls(brush, trial, step);
    drawScripts(brush, trial, step);
    drawCandidates(brush, trial);
    if (view.agent >= 0) drawSelectedBelow(brush, trial, other, step);
    drawTraffic(brush, trial, step, ground);
    if (view.agent >= 0) drawSelectedAbove(brush, trial, step);
    drawScaleBar(brush);
    this.refreshCaption();
  }

  refreshCaption() {
    this.cells.refresh();
    const number = String(this.trial.number);
    if (this.choice.value !== number) this.choice.value = number;
    const isActive = isComparing() && view.active === this.index;
    if (this.root.classList.contains("active") !== isActive) this.root.classList.toggle("active", isActive);
  }

  /* The agent at a pixel of the pane, or -1. */
  agentAt(right, down) {
    const {trial, size} = this, camera = this.camera(), frame = clampStep(trial, view.step);
    let nearest = -1, nearest_px = Infinity;
    for (let agent = 0; agent < trial.agents; agent++) {
      if (!trial.present[at(trial, agent, frame)]) continue;
      const pose = poseAt(trial, agent, view.step), [agentRight, agentDown] = camera.toScreen(pose.x, pose.y, size);
      const distance_px = Math.hypot(agentRight - right, agentDown - down);
      const reach_px = Math.max(CLICK_REACH_PX, 0.5 * trial.scene.length[agent] * camera.scale);
      if (distance_px < reach_px && distance_px < nearest_px) [nearest, nearest_px] = [agent, distance_px];
    }
    return nearest;
  }
}

/* ---- one camera and one ground per scene ---- */

const cameras = new Map();
const boxes = new Map();
const grounds = new Map();

function cameraOf(scene, size) {
  if (!cameras.has(scene)) {
    cameras.set(scene, new Camera());
    boxes.set(scene, boxOfAgents(scene));
    cameras.get(scene).fit(boxes.get(scene), size);
  }
  const camera = cameras.get(scene);
  if (camera.needsRefit(size)) camera.fit(boxes.get(scene), size);
  return camera;
}

function groundOf(scene) {
  if (!grounds.has(scene)) grounds.set(scene, new Ground(scene, recording.road_kinds));
  return grounds.get(scene);
}

/* ---- scale bar ---- */

const SCALE_BARS_M = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const SCALE_BAR_PX = 110;

function drawScaleBar({context, camera, size}) {
  const length_m = SCALE_BARS_M.filter((one) => one * camera.scale <= SCALE_BAR_PX).pop() ?? SCALE_BARS_M[0];
  const right = size.width - 12, left = right - length_m * camera.scale, down = size.height - 12;
  context.beginPath();
  context.moveTo(left, down - 4);
  context.lineTo(left, down);
  context.lineTo(right, down);
  context.lineTo(right, down - 4);
  context.lineWidth = 1.5;
  context.strokeStyle = colour("--ink");
  context.stroke();
  writeText(context, `${length_m} m`, (left + right) / 2, down - 9);
}
