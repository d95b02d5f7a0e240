/* How are vehicles drawn? A body with a visible front, in the colour of its state. */

/* Shorter vehicles are enlarged to this, so that they can be seen and clicked. */
const MIN_LENGTH_PX = 9;
/* Shorter vehicles have no windscreen. */
const DETAIL_PX = 16;

const TRAIL_S = 2;
/* How long an event flashes, and how long the mark of a removed agent stays. */
const FLASH_S = 0.8;
const REMOVED_MARK_S = 2;

/* The least radius of a goal, and of one that has to stand out: that of the selected agent, and candidates. */
const MIN_GOAL_PX = 3, MIN_MARKED_GOAL_PX = 5;
/* Length of the line that shows the heading of a goal, as a multiple of the radius; as in render/traffic.py. */
const GOAL_HEADING_LENGTH = 2;

const KIND_VEHICLE = 1, KIND_PEDESTRIAN = 2;

/* Draws the vehicles of a trial at a step, with their goals, trails, marks and indices. Where roads lie above each
 * other, those of a level cover the vehicles on the levels below. */
function drawTraffic(brush, trial, step, ground) {
  const frame = clampStep(trial, step);
  for (let level = 0; level < ground.levels.length - 1; level++) {
    drawVehiclesOn(brush, trial, step, ground, level);
    drawGroundLevel(brush, ground.levels[level + 1]);
  }
  if (view.goals) drawGoals(brush, trial, frame);
  drawVehiclesOn(brush, trial, step, ground, ground.levels.length - 1);
  for (let agent = 0; agent < trial.agents; agent++) drawOutcomeMark(brush, trial, agent, step);
  for (const event of trial.events) drawFlash(brush, trial, event, step);
  if (view.names) for (let agent = 0; agent < trial.agents; agent++) drawName(brush, trial, agent, step);
}

function drawVehiclesOn(brush, trial, step, ground, level) {
  const frame = clampStep(trial, step);
  const isHere = (vehicle) => ground.levelIndex(trial.z[at(trial, vehicle, frame)]) === level;
  for (let agent = 0; agent < trial.agents; agent++)
    if (view.trails && isHere(agent)) drawTrail(brush, trial, agent, step);
  for (let vehicle = trial.vehicles - 1; vehicle >= 0; vehicle--)
    if (trial.present[at(trial, vehicle, frame)] && isHere(vehicle)) drawVehicle(brush, trial, vehicle, step);
}

/* Draws the roads of a level over what is there, in the scene's frame. */
function drawGroundLevel({context, camera, size}, level) {
  const [right, down] = camera.toScreen(0, 0, size);
  context.save();
  context.transform(camera.scale, 0, 0, -camera.scale, right, down);
  level.draw(context, 1 / camera.scale);
  context.restore();
}

/* Pixel of a point of the scene; a brush is {context, camera, size} of a pane. */
function toPixels(brush, x, y) {
  return brush.camera.toScreen(x, y, brush.size);
}

function drawVehicle(brush, trial, vehicle, step) {
  const {context, camera, size} = brush, pose = poseAt(trial, vehicle, step);
  const [right, down] = toPixels(brush, pose.x, pose.y);
  const enlargement = Math.max(1, MIN_LENGTH_PX / (trial.scene.length[vehicle] * camera.scale));
  const length = trial.scene.length[vehicle] * camera.scale * enlargement;
  const width = Math.max(trial.scene.width[vehicle] * camera.scale * Math.min(enlargement, 2), 0.4 * MIN_LENGTH_PX);
  if (right < -length || down < -length || right > size.width + length || down > size.height + length) return;
  const state = stateOf(trial, vehicle, clampStep(trial, step));
  context.save();
  context.translate(right, down);
  context.rotate(-pose.heading);
  traceBody(context, trial.scene.kind[vehicle], length, width);
  context.fillStyle = colour(`--state-${state}`);
  context.fill();
  context.lineWidth = Math.min(1.25, length / 14);
  context.strokeStyle = colour("--outline");
  context.stroke();
  if (length >= DETAIL_PX && trial.scene.kind[vehicle] === KIND_VEHICLE) drawWindscreen(context, length, width);
  if (trial.coplayers.includes(vehicle)) drawStripe(context, length, width);
  context.restore();
}

/* The stripe along the roof that marks a co-player. */
function drawStripe(context, length, width) {
  context.fillStyle = colour("--outline");
  context.fillRect(-0.44 * length, -0.13 * width, 0.5 * length, 0.26 * width);
}

function traceBody(context, kind, length, width) {
  context.beginPath();
  if (kind === KIND_PEDESTRIAN) return context.arc(0, 0, Math.max(length, width) / 2, 0, 2 * Math.PI);
  const l = length / 2, w = width / 2, nose = Math.min(0.32 * width, 0.2 * length), tail = 0.12 * width;
  context.moveTo(-l + tail, -w);
  context.lineTo(l - nose, -w);
  context.quadraticCurveTo(l, -w, l, -w + nose);
  context.lineTo(l, w - nose);
  context.quadraticCurveTo(l, w, l - nose, w);
  context.lineTo(-l + tail, w);
  context.quadraticCurveTo(-l, w, -l, w - tail);
  context.lineTo(-l, -w + tail);
  context.quadraticCurveTo(-l, -w, -l + tail, -w);
}

function drawWindscreen(context, length, width) {
  context.fillStyle = colour("--glass");
  context.beginPath();
  context.moveTo(0.26 * length, -0.4 * width);
  context.lineTo(0.26 * length, 0.4 * width);
  context.lineTo(0.1 * length, 0.33 * width);
  context.lineTo(0.1 * length, -0.33 * width);
  context.fill();
}

/* The path of a driving agent over the last TRAIL_S seconds, or since it appeared at a start. */
function drawTrail(brush, trial, agent, step) {
  const frame = clampStep(trial, step), {context} = brush;
  if (stateOf(trial, agent, frame) !== DRIVING || !trial.present[at(trial, agent, frame)]) return;
  const oldest = Math.max(0, frame - Math.round(TRAIL_S / trial.scene.dt_s));
  let first = frame;
  while (first > oldest && !respawnsIn(trial, agent, first)) first--;
  if (first === frame) return;
  context.beginPath();
  for (let i = at(trial, agent, first); i <= at(trial, agent, frame); i++)
    context.lineTo(...toPixels(brush, trial.x[i], trial.y[i]));
  const pose = poseAt(trial, agent, step);
  context.lineTo(...toPixels(brush, pose.x, pose.y));
  context.strokeStyle = colour("--trail");
  context.lineWidth = Math.max(1.5, 0.5 * brush.camera.scale);
  context.lineCap = context.lineJoin = "round";
  context.stroke();
}

/* The radius of a goal on the screen, which is not below a number of pixels. */
function goalRadius(camera, least_px) {
  return Math.max(least_px, recording.config.goal_radius_m * camera.scale);
}

/* A line from the middle of a goal, in the heading with which it counts as reached. packing.py stores headings plus pi,
 * and 0 where any heading will do; there is no line then. */
function drawGoalHeading(brush, trial, index, radius) {
  const {context} = brush, heading = trial.goalHeading[index] - Math.PI, length = GOAL_HEADING_LENGTH * radius;
  if (trial.goalHeading[index] === 0) return;
  const [right, down] = toPixels(brush, trial.goalX[index], trial.goalY[index]);
  context.beginPath();
  context.moveTo(right, down);
  context.lineTo(right + length * Math.cos(heading), down - length * Math.sin(heading));
  context.stroke();
}

function drawGoals(brush, trial, frame) {
  const {context, camera} = brush;
  for (let agent = 0; agent < trial.agents; agent++) {
    if (stateOf(trial, agent, frame) !== DRIVING) continue;
    const i = at(trial, agent, frame), [right, down] = toPixels(brush, trial.goalX[i], trial.goalY[i]);
    context.beginPath();
    const radius = goalRadius(camera, MIN_GOAL_PX);
    context.arc(right, down, radius, 0, 2 * Math.PI);
    context.lineWidth = 1.5;
    context.strokeStyle = context.fillStyle = colour("--state-0");
    context.stroke();
    drawGoalHeading(brush, trial, i, radius);
    drawNumberedGoals(brush, nextGoals(trial, agent, frame), 1);
  }
}

/* The mark of an agent that has an outcome; it fades once the agent is removed. */
function drawOutcomeMark(brush, trial, agent, step) {
  const frame = clampStep(trial, step), end = trial.ends[agent];
  if (!end || frame < end.frame || end.outcome === TIMEOUT) return;
  const age_s = (step - end.frame) * trial.scene.dt_s, isPresent = trial.present[at(trial, agent, frame)];
  if (!isPresent && age_s > REMOVED_MARK_S) return;
  const i = at(trial, agent, end.frame), [right, down] = toPixels(brush, trial.x[i], trial.y[i]);
  const radius = Math.max(5, Math.min(1.1 * brush.camera.scale, 10));
  drawMark(brush.context, end.outcome, right, down, radius, isPresent ? 1 : 1 - age_s / REMOVED_MARK_S);
}

function drawMark(context, state, right, down, radius, alpha) {
  context.save();
  context.globalAlpha = alpha;
  context.translate(right - radius, down - radius);
  context.scale((2 * radius) / MARK_SIZE, (2 * radius) / MARK_SIZE);
  context.beginPath();
  context.arc(8, 8, 7.5, 0, 2 * Math.PI);
  context.fillStyle = colour(`--state-${state}`);
  context.fill();
  context.strokeStyle = colour("--outline");
  context.lineWidth = 1;
  context.stroke();
  context.strokeStyle = colour(`--on-state-${state}`);
  context.lineWidth = 2.2;
  context.lineCap = context.lineJoin = "round";
  context.stroke(markPath(state));
  context.restore();
}

const markPaths = new Map();

function markPath(state) {
  if (!markPaths.has(state)) markPaths.set(state, new Path2D(MARKS[state]));
  return markPaths.get(state);
}

/* A ring that grows from the position of an event: where the agent is, or the goal that it had before it respawned. */
function drawFlash(brush, trial, event, step) {
  const age = ((step - event.frame) * trial.scene.dt_s) / FLASH_S;
  if (age < 0 || age >= 1) return;
  const {context} = brush, i = at(trial, event.agent, event.frame);
  const place = respawnsIn(trial, event.agent, event.frame)
    ? [trial.goalX[i - 1], trial.goalY[i - 1]] : [trial.x[i], trial.y[i]];
  const [right, down] = toPixels(brush, ...place);
  context.save();
  context.globalAlpha = 1 - age;
  context.beginPath();
  context.arc(right, down, 6 + 22 * age, 0, 2 * Math.PI);
  context.lineWidth = 3;
  context.strokeStyle = colour(`--state-${event.state}`);
  context.stroke();
  context.restore();
}

function drawName(brush, trial, agent, step) {
  if (!trial.present[at(trial, agent, clampStep(trial, step))]) return;
  const pose = poseAt(trial, agent, step), [right, down] = toPixels(brush, pose.x, pose.y);
  const above = Math.max(8, 0.55 * trial.scene.length[agent] * brush.camera.scale);
  writeText(brush.context, String(agent), right, down - above);
}

/* Text with an outline in the ground's colour, legible on any background. */
function writeText(context, text, right, down, align = "center") {
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = align;
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.lineWidth = 3;
  context.strokeStyle = colour("--land");
  context.strokeText(text, right, down);
  context.fillStyle = colour("--ink");
  context.fillText(text, right, down);
}
