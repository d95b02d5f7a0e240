/* What happens when the page opens? It reads the recording, creates its parts, and draws a frame on request. */

/* Smallest time between updates of the panel while playing: faster changes are unreadable. */
const PANEL_INTERVAL_MS = 60;

const page = {panes: [], help: document.getElementById("help")};

async function open() {
  useSystemTheme();
  recording = await readRecording();
  scenes = recording.scenes.map((_, number) => makeScene(recording, number));
  trials = recording.trials.map((_, number) => makeTrial(recording, scenes, number));
  page.stage = document.getElementById("stage");
  page.stage.replaceChildren();
  page.timeline = new Timeline(document.getElementById("timeline"));
  const panelRoot = document.getElementById("panel");
  page.overviewPanel = new OverviewPanel(panelRoot);
  page.agentPanel = new AgentPanel(panelRoot);
  const commands = makeCommands(page);
  connectButtons(commands);
  listenToKeys(commands, page.help);
  observeSizes();
  applyAddress();
  draw = drawPage;
  document.body.classList.remove("loading");
  requestDraw();
}

function observeSizes() {
  const sizes = new ResizeObserver(requestDraw);
  for (const id of ["stage", "timeline"]) sizes.observe(document.getElementById(id));
}

/* ---- frame ---- */

function drawPage(now_ms) {
  arrangePanes();
  for (const pane of page.panes) pane.fitToRoot();
  showSelected();
  for (const pane of page.panes) pane.draw(now_ms);
  page.timeline.draw();
  refreshButtons();
  refreshPanel(now_ms);
  if (!view.playing) updateAddress();
}

function arrangePanes() {
  const count = view.trials.length;
  while (page.panes.length > count) page.panes.pop().root.remove();
  while (page.panes.length < count) {
    const pane = new Pane(page.panes.length);
    page.panes.push(pane);
    page.stage.append(pane.root);
    new PanePointer(pane);
  }
  page.stage.classList.toggle("two", count === 2);
}

let lastSelected = -1;

/* Moves the camera to a newly selected agent that is out of view. */
function showSelected() {
  if (view.agent === lastSelected) return;
  lastSelected = view.agent;
  if (view.agent < 0) return;
  const pane = page.panes[Math.min(view.active, page.panes.length - 1)];
  const pose = poseAt(pane.trial, view.agent, view.step);
  const camera = cameraOf(pane.trial.scene, pane.size);
  if (!camera.shows(pose.x, pose.y, pane.size)) Object.assign(camera, {x: pose.x, y: pose.y, fitted: null});
}

let shownPanel = null, panelUpdated_ms = 0;

function refreshPanel(now_ms) {
  const panel = view.agent >= 0 ? page.agentPanel : page.overviewPanel;
  if (panel !== shownPanel) {
    shownPanel = panel;
    panel.build();
  } else if (view.playing && now_ms - panelUpdated_ms < PANEL_INTERVAL_MS) return;
  panelUpdated_ms = now_ms;
  if (panel === page.agentPanel) panel.refresh();
}

/* ---- a link to a moment ---- */

/* The address names trial, step and agent, as in page.html#trial=1&step=34&agent=7, so that it can be shared. */
function applyAddress() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const indexIn = (name, last) => {
    const value = Number(parameters.get(name) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value <= last ? value : null;
  };
  const last = trials.length - 1, trial = indexIn("trial", last) ?? 0, beside = indexIn("beside", last);
  view.trials = beside === null ? [trial] : [trial, beside];
  view.step = indexIn("step", lastShownStep()) ?? 0;
  selectAgent(indexIn("agent", Infinity) ?? -1);
}

function updateAddress() {
  const fields = [`trial=${view.trials[0]}`];
  if (isComparing()) fields.push(`beside=${view.trials[1]}`);
  fields.push(`step=${clampStep({lastStep: lastShownStep()}, view.step)}`);
  if (view.agent >= 0) fields.push(`agent=${view.agent}`);
  const hash = `#${fields.join("&")}`;
  if (hash === location.hash) return;
  try {
    history.replaceState(null, "", hash);
  } catch {
    // A page in a frame may not change its address; nothing else depends on it.
  }
}

/* ---- start ---- */

open().catch((error) => {
  document.body.classList.remove("loading");
  const text = `The replay cannot be shown: ${error.message}`;
  document.getElementById("stage").replaceChildren(element("p", {class: "failure", role: "alert"}, text));
  throw error;
});

/* For scripts and tests. */
window.replay = {
  view, change, selectAgent, goTo, play, compare, showTrial, drawPage, page, observationOf, newOverlaps, poseAt,
  get recording() { return recording; },
  get trials() { return trials; },
};
