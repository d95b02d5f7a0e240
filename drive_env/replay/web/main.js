/* What happens when the page opens? The recording is read, the parts are made, a picture is drawn on request. */

/* The panel's numbers change at most this often while playing: faster nobody can read. */
const WORDS_MS = 60;

const page = {panes: [], help: document.getElementById("help")};

async function open() {
  followSystemTheme();
  recording = await readRecording();
  scenes = recording.scenes.map((_, number) => makeScene(recording, number));
  trials = recording.trials.map((_, number) => makeTrial(recording, scenes, number));
  page.stage = document.getElementById("stage");
  page.stage.replaceChildren();
  page.timeline = new Timeline(document.getElementById("timeline"));
  const panelRoot = document.getElementById("panel");
  page.agents = new AgentsPanel(panelRoot);
  page.agent = new AgentPanel(panelRoot);
  const commands = makeCommands(page);
  connectButtons(commands);
  listenToKeys(commands, page.help);
  watchSurroundings();
  openMoment();
  draw = drawPage;
  document.body.classList.remove("loading");
  askForPicture();
}

function watchSurroundings() {
  const sizes = new ResizeObserver(askForPicture);
  for (const id of ["stage", "timeline"]) sizes.observe(document.getElementById(id));
}

/* ---- picture ---- */

function drawPage(now_ms) {
  arrangePanes();
  for (const pane of page.panes) pane.fitToRoot();
  lookAtChosen();
  for (const pane of page.panes) pane.draw(now_ms);
  page.timeline.draw();
  refreshButtons();
  refreshPanel(now_ms);
  if (!view.playing) noteMoment();
}

function arrangePanes() {
  const wanted = view.trials.length;
  while (page.panes.length > wanted) page.panes.pop().root.remove();
  while (page.panes.length < wanted) {
    const pane = new Pane(page.panes.length);
    page.panes.push(pane);
    page.stage.append(pane.root);
    new PanePointer(pane);
  }
  page.stage.classList.toggle("two", wanted === 2);
}

let lookedAt = -1;

/* An agent that has just been chosen comes into view. */
function lookAtChosen() {
  if (view.agent === lookedAt) return;
  lookedAt = view.agent;
  if (view.agent < 0) return;
  const pane = page.panes[Math.min(view.active, page.panes.length - 1)];
  const pose = poseAt(pane.trial, view.agent, view.step);
  const camera = cameraOf(pane.trial.scene, pane.size);
  if (!camera.shows(pose.x, pose.y, pane.size)) Object.assign(camera, {x: pose.x, y: pose.y, fitted: null});
}

let shownPanel = null, wordsShown_ms = 0;

function refreshPanel(now_ms) {
  const panel = view.agent >= 0 ? page.agent : page.agents;
  if (panel !== shownPanel) {
    shownPanel = panel;
    panel.build();
  } else if (view.playing && now_ms - wordsShown_ms < WORDS_MS) return;
  wordsShown_ms = now_ms;
  if (panel === page.agent) panel.refresh();
}

/* ---- a link to a moment ---- */

/* The address names the moment, as in page.html#trial=1&step=34&agent=7, so that it can be handed on. */
function openMoment() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const wanted = (name, last) => {
    const value = Number(asked.get(name) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value <= last ? value : null;
  };
  const last = trials.length - 1, trial = wanted("trial", last) ?? 0, beside = wanted("beside", last);
  view.trials = beside === null ? [trial] : [trial, beside];
  view.step = wanted("step", lastShownStep()) ?? 0;
  choose(wanted("agent", Infinity) ?? -1);
}

function noteMoment() {
  const words = [`trial=${view.trials[0]}`];
  if (isComparing()) words.push(`beside=${view.trials[1]}`);
  words.push(`step=${clampStep({lastStep: lastShownStep()}, view.step)}`);
  if (view.agent >= 0) words.push(`agent=${view.agent}`);
  const hash = `#${words.join("&")}`;
  if (hash === location.hash) return;
  try {
    history.replaceState(null, "", hash);
  } catch {
    // A page inside another one may not change its address; nothing else depends on it.
  }
}

/* ---- start ---- */

open().catch((error) => {
  document.body.classList.remove("loading");
  const words = `The replay cannot be shown: ${error.message}`;
  document.getElementById("stage").replaceChildren(element("p", {class: "failure", role: "alert"}, words));
  throw error;
});

/* For those who script the page. */
window.replay = {
  view, change, choose, goTo, play, compare, showTrial, drawPage, page, sightOf, contactsBegun,
  get recording() { return recording; },
  get trials() { return trials; },
};
