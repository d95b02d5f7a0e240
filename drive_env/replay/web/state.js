/* What does the page show now? One view state; every change of it requests a new frame. */

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
/* How long the play head rests at the end of a trial. */
const END_REST_MS = 700;
/* A longer pause between two frames, as of a page in the background, counts as this. */
const MAX_ELAPSED_MS = 250;

/* view.trials: the trial of each pane, one or two; view.active: the pane that the timeline controls; view.step: of the
 * trial, with a fraction between two frames; view.agent: the selected agent or -1. */
const view = {
  trials: [0], active: 0, step: 0, playing: false, speed: 1, agent: -1, follow: false,
  trails: true, goals: false, names: false, observation: true,
};

let recording = null, scenes = [], trials = [];
let draw = () => {}, isDrawRequested = false;
/* Time of the last frame, and when the play head reached the end of the trial. */
let lastDraw_ms = null, endReached_ms = null;

function change(changes) {
  Object.assign(view, changes);
  requestDraw();
}

function requestDraw() {
  if (isDrawRequested) return;
  isDrawRequested = true;
  requestAnimationFrame(drawFrame);
}

function drawFrame(now_ms) {
  isDrawRequested = false;
  if (view.playing) advance(now_ms);
  draw(now_ms);
  if (view.playing) requestDraw();
}

/* ---- time ---- */

const shownTrials = () => view.trials.map((number) => trials[number]);
const lastShownStep = () => Math.max(...shownTrials().map((trial) => trial.lastStep));
const isComparing = () => view.trials.length === 2;

/* Moves the play head by the time since the last frame; at the end of a trial it rests, then plays the next one. */
function advance(now_ms) {
  const elapsed_ms = lastDraw_ms === null ? 0 : Math.min(now_ms - lastDraw_ms, MAX_ELAPSED_MS);
  lastDraw_ms = now_ms;
  const last = lastShownStep();
  if (view.step < last) {
    const dt_s = trials[view.trials[0]].scene.dt_s;
    view.step = Math.min(view.step + (elapsed_ms / 1000) * view.speed / dt_s, last);
    endReached_ms = view.step < last ? null : now_ms;
  } else if (endReached_ms === null) endReached_ms = now_ms;
  else if (now_ms - endReached_ms > END_REST_MS) playNextTrial();
}

function playNextTrial() {
  const next = view.trials[0] + 1;
  endReached_ms = null;
  if (isComparing() || next === trials.length) play(false);
  else showTrial(next, 0);
}

function play(on) {
  lastDraw_ms = endReached_ms = null;
  if (on && view.step >= lastShownStep()) {
    if (!isComparing() && view.trials[0] === trials.length - 1) view.trials = [0];
    if (isComparing() || view.trials[0] === 0) view.step = 0;
  }
  change({playing: on});
}

function goTo(step) {
  endReached_ms = null;
  change({step: Math.max(0, Math.min(step, lastShownStep()))});
}

/* Moves by whole frames; between two frames, the first step reaches the next frame in that direction. */
function goBy(steps) {
  play(false);
  goTo((steps > 0 ? Math.floor(view.step + 1e-6) : Math.ceil(view.step - 1e-6)) + steps);
}

/* ---- what is shown ---- */

/* Puts a trial in the active pane. */
function showTrial(number, step = view.step) {
  if (number < 0 || number >= trials.length) return;
  view.trials = view.trials.map((shownNumber, pane) => (pane === view.active ? number : shownNumber));
  if (view.agent >= Math.min(...shownTrials().map((trial) => trial.agents))) view.agent = -1;
  goTo(step);
}

function compare(on) {
  if (!on) return change({trials: [view.trials[view.active]], active: 0});
  const one = view.trials[0], other = one > 0 ? one - 1 : Math.min(1, trials.length - 1);
  change({trials: [Math.min(one, other), Math.max(one, other)], active: 1});
}

function selectAgent(agent) {
  const agents = Math.min(...shownTrials().map((trial) => trial.agents));
  const selected = agent >= 0 && agent < agents ? agent : -1;
  change({agent: selected, follow: view.follow && selected >= 0});
}
