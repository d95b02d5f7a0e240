/* What is being looked at now? One object; whoever changes it asks for a new picture. */

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const HOLD_MS = 700;

/* view.trials: what the panes show, one or two; view.active: the pane that clicks on the timeline speak to;
 * view.step: of the trial, with a fraction between two frames; view.agent: the chosen agent or -1. */
const view = {
  trials: [0], active: 0, step: 0, playing: false, speed: 1, agent: -1, follow: false,
  trails: true, goals: false, names: false, sight: true,
};

let recording = null, scenes = [], trials = [];
let draw = () => {}, isDrawingDue = false;
/* When the last picture was drawn, and since when the play head has rested at the end of a trial. */
let lastTime_ms = null, heldSince_ms = null;

function change(changes) {
  Object.assign(view, changes);
  askForPicture();
}

function askForPicture() {
  if (isDrawingDue) return;
  isDrawingDue = true;
  requestAnimationFrame(drawFrame);
}

function drawFrame(now_ms) {
  isDrawingDue = false;
  if (view.playing) advance(now_ms);
  draw(now_ms);
  if (view.playing) askForPicture();
}

/* ---- time ---- */

const shownTrials = () => view.trials.map((number) => trials[number]);
const lastShownStep = () => Math.max(...shownTrials().map((trial) => trial.lastStep));
const isComparing = () => view.trials.length === 2;

/* Moves the play head by the time since the last picture; after a trial comes a short rest, then the next trial. */
function advance(now_ms) {
  const gone_ms = lastTime_ms === null ? 0 : Math.min(now_ms - lastTime_ms, 250);
  lastTime_ms = now_ms;
  const last = lastShownStep();
  if (view.step < last) {
    const dt_s = trials[view.trials[0]].scene.dt_s;
    view.step = Math.min(view.step + (gone_ms / 1000) * view.speed / dt_s, last);
    heldSince_ms = view.step < last ? null : now_ms;
  } else if (heldSince_ms === null) heldSince_ms = now_ms;
  else if (now_ms - heldSince_ms > HOLD_MS) goPastTheEnd();
}

function goPastTheEnd() {
  const next = view.trials[0] + 1;
  heldSince_ms = null;
  if (isComparing() || next === trials.length) play(false);
  else showTrial(next, 0);
}

function play(on) {
  lastTime_ms = heldSince_ms = null;
  if (on && view.step >= lastShownStep()) {
    if (!isComparing() && view.trials[0] === trials.length - 1) view.trials = [0];
    if (isComparing() || view.trials[0] === 0) view.step = 0;
  }
  change({playing: on});
}

function goTo(step) {
  heldSince_ms = null;
  change({step: Math.max(0, Math.min(step, lastShownStep()))});
}

/* One or more whole frames on; a play head between two frames goes to the nearer one first. */
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

function choose(agent) {
  const agents = Math.min(...shownTrials().map((trial) => trial.agents));
  const chosen = agent >= 0 && agent < agents ? agent : -1;
  change({agent: chosen, follow: view.follow && chosen >= 0});
}
