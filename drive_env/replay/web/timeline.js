/* How do the agents' states change over the steps? One strip per trial, aligned at step 0, and the selected agent. */

const STRIP_PX = 22, AGENT_PX = 12, GAP_PX = 6, TOP_PX = 4, AXIS_PX = 18;
const LABEL_PX = 62, COUNT_PX = 116, SIDE_PX = 10, END_PX = 18;
/* Narrower timelines have no counts. */
const WIDE_PX = 560;
const TICK_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const MIN_TICK_PX = 60;

/* Order of the states in a column of a strip, from the bottom: goals first, failures on top. */
const STACK = [GOAL, DRIVING, TIMEOUT, OTHER, OFFROAD, COLLISION];

class Timeline {
  constructor(root) {
    this.root = root;
    this.canvas = element("canvas", {
      role: "slider", tabindex: "0", "aria-label": "Step of the trial", "aria-valuemin": "0"});
    this.context = this.canvas.getContext("2d");
    this.staticCanvas = document.createElement("canvas");
    this.staticKey = "";
    this.longest = Math.max(1, ...trials.map((trial) => trial.lastStep));
    root.append(this.canvas);
    this.canvas.addEventListener("pointerdown", (event) => this.grab(event));
    this.canvas.addEventListener("pointermove", (event) => {
      if (this.canvas.hasPointerCapture(event.pointerId)) this.scrub(event);
    });
  }

  get rowHeight() {
    return STRIP_PX + GAP_PX + (view.agent >= 0 ? AGENT_PX : 0);
  }

  fitToRoot() {
    const ratio = Math.min(window.devicePixelRatio || 1, MAX_PIXEL_RATIO);
    const width = this.root.clientWidth, height = TOP_PX + trials.length * this.rowHeight + AXIS_PX;
    if (this.width === width && this.height === height && this.ratio === ratio) return;
    Object.assign(this, {width, height, ratio});
    for (const canvas of [this.canvas, this.staticCanvas]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.canvas.style.height = `${height}px`;
    this.staticKey = "";
  }

  get left() {
    return LABEL_PX;
  }

  get right() {
    return this.width - (this.width >= WIDE_PX ? COUNT_PX : END_PX);
  }

  toX(step) {
    return this.left + (step / this.longest) * (this.right - this.left);
  }

  toStep(x) {
    return Math.round(((x - this.left) / (this.right - this.left)) * this.longest);
  }

  topOf(number) {
    return TOP_PX + number * this.rowHeight;
  }

  /* ---- pointer ---- */

  grab(event) {
    this.canvas.setPointerCapture(event.pointerId);
    const number = Math.floor((event.offsetY - TOP_PX) / this.rowHeight);
    const pane = view.trials.indexOf(number);
    play(false);
    if (pane >= 0) view.active = pane;
    else showTrial(number);
    this.scrub(event);
  }

  scrub(event) {
    goTo(this.toStep(event.offsetX));
  }

  /* ---- drawing ---- */

  draw() {
    this.fitToRoot();
    const key = [view.agent, view.trials, view.active, colour("--ink"), this.width, this.height].join("|");
    if (key !== this.staticKey) {
      this.staticKey = key;
      this.drawStill();
    }
    const {context} = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.staticCanvas, 0, 0);
    context.scale(this.ratio, this.ratio);
    this.drawPlayHead(context);
    this.updateAria();
  }

  drawStill() {
    const context = this.staticCanvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.textBaseline = "middle";
    for (const trial of trials) {
      this.drawStrip(context, trial);
      if (view.agent >= 0 && view.agent < trial.agents) this.drawAgent(context, trial);
    }
    this.drawAxis(context);
  }

  drawStrip(context, trial) {
    const top = this.topOf(trial.number), isShown = view.trials.includes(trial.number);
    context.globalAlpha = isShown ? 1 : 0.6;
    for (let x = Math.floor(this.left); x < this.toX(trial.lastStep); x++)
      this.drawColumn(context, trial, x, this.toStep(x), top);
    context.globalAlpha = 1;
    const width = this.toX(trial.lastStep) - this.left;
    context.lineWidth = isShown ? 2 : 1;
    context.strokeStyle = colour(isShown ? "--ink" : "--hairline");
    context.strokeRect(this.left, top, width, STRIP_PX);
    context.font = `${isShown ? 600 : 400} 12px system-ui, sans-serif`;
    context.fillStyle = colour(isShown ? "--ink" : "--faint");
    context.textAlign = "left";
    context.fillText(this.label(trial), SIDE_PX, top + STRIP_PX / 2);
    const goals = `${countStates(trial, trial.lastStep)[GOAL]} of ${trial.agents} goals`;
    if (this.width >= WIDE_PX) context.fillText(goals, this.right + SIDE_PX, top + STRIP_PX / 2);
  }

  label(trial) {
    const manyEpisodes = trials[trials.length - 1].episode > 0;
    return manyEpisodes ? `${trial.episode + 1} / ${trial.index + 1}` : `trial ${trial.index + 1}`;
  }

  drawColumn(context, trial, x, frame, top) {
    const counts = countStates(trial, Math.min(frame, trial.lastStep));
    let bottom = top + STRIP_PX;
    for (const state of STACK) {
      const height = (STRIP_PX * counts[state]) / trial.agents;
      context.fillStyle = colour(state === DRIVING ? "--strip" : `--state-${state}`);
      context.fillRect(x, bottom - height, 1, height);
      bottom -= height;
    }
  }

  /* The selected agent: a line while it drives, a bar in the colour of its outcome, and its events. */
  drawAgent(context, trial) {
    const middle = this.topOf(trial.number) + STRIP_PX + AGENT_PX / 2 + 1, end = trial.ends[view.agent];
    const endX = this.toX(end ? end.frame : trial.lastStep);
    context.fillStyle = colour("--state-0");
    context.fillRect(this.left, middle - 1, endX - this.left, 2);
    if (end) {
      context.fillStyle = colour(`--state-${end.outcome}`);
      context.fillRect(endX, middle - 2, this.toX(trial.lastStep) - endX, 4);
      drawMark(context, end.outcome, endX, middle, 6, 1);
    }
    for (const event of trial.events)
      if (event.agent === view.agent) drawMark(context, event.state, this.toX(event.frame), middle, 6, 1);
  }

  drawAxis(context) {
    const stepsPerPixel = this.longest / (this.right - this.left);
    const tickStep = TICK_STEPS.find((steps) => steps / stepsPerPixel >= MIN_TICK_PX) ?? this.longest;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("--faint");
    context.textAlign = "center";
    const down = this.height - AXIS_PX / 2;
    for (let step = 0; step <= this.longest; step += tickStep) context.fillText(String(step), this.toX(step), down);
    context.textAlign = "left";
    context.fillText("step", SIDE_PX, down);
  }

  drawPlayHead(context) {
    context.strokeStyle = colour("--hairline");
    context.lineWidth = 1;
    line(context, this.toX(view.step), TOP_PX, this.height - AXIS_PX);
    context.strokeStyle = context.fillStyle = colour("--head");
    context.lineWidth = 2;
    for (const trial of shownTrials()) {
      const x = this.toX(Math.min(view.step, trial.lastStep)), top = this.topOf(trial.number);
      line(context, x, top - 3, top + this.rowHeight - GAP_PX + 3);
      context.beginPath();
      context.arc(x, top - 1, 4, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /* The slider's value for screen readers. */
  updateAria() {
    const trial = trials[view.trials[view.active]], step = clampStep(trial, view.step);
    const values = {"aria-valuemax": trial.lastStep, "aria-valuenow": step,
      "aria-valuetext": `${trialName(recording, trial)}, step ${step} of ${trial.lastStep}`};
    for (const [name, value] of Object.entries(values))
      if (this.canvas.getAttribute(name) !== String(value)) this.canvas.setAttribute(name, value);
  }
}

function line(context, x, top, bottom) {
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, bottom);
  context.stroke();
}
