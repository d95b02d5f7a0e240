/* What is drawn for the selected agent? Its path, its goal, its path in the other trial, and its observation. */

const OUTLINE_GAP_M = 0.7, CONTROL_GAP_M = 0.9;
const NEXT_GOAL_PX = 2, CANDIDATE_PX = 1, GOAL_NUMBER_FONT = "600 11px system-ui, sans-serif";

function drawSelectedBelow(brush, trial, other, step) {
  const {agent} = view;
  if (view.observation) drawObservedRoads(brush, trial, agent, step);
  if (other && other.scene === trial.scene) drawPath(brush, other, agent, 0, other.lastStep, "--path-other", [2, 6], 3);
  const frame = clampStep(trial, step);
  drawPath(brush, trial, agent, frame, trial.lastStep, "--path", [1, 5], 2);
  drawPath(brush, trial, agent, 0, frame, "--path", [], 2.5);
  drawGoal(brush, trial, agent, step);
}

function drawPath(brush, trial, agent, first, last, colourName, dashes, width) {
  const {context} = brush, end = Math.min(last, trial.ends[agent]?.frame ?? last);
  if (end <= first) return;
  context.save();
  context.beginPath();
  for (let frame = first; frame <= end; frame++) {
    const i = at(trial, agent, frame), place = toPixels(brush, trial.x[i], trial.y[i]);
    if (respawnsIn(trial, agent, frame)) context.moveTo(...place);
    else context.lineTo(...place);
  }
  context.setLineDash(dashes);
  context.lineCap = context.lineJoin = "round";
  context.lineWidth = width;
  context.strokeStyle = colour(colourName);
  context.stroke();
  context.restore();
}

function drawGoal(brush, trial, agent, step) {
  const {context, camera} = brush, i = at(trial, agent, clampStep(trial, step));
  const [right, down] = toPixels(brush, trial.goalX[i], trial.goalY[i]);
  const pose = poseAt(trial, agent, step), [fromRight, fromDown] = toPixels(brush, pose.x, pose.y);
  context.save();
  context.strokeStyle = colour("--path");
  context.globalAlpha = 0.55;
  context.setLineDash([6, 6]);
  context.lineWidth = 1;
  if (stateOf(trial, agent, clampStep(trial, step)) === DRIVING) {
    context.beginPath();
    context.moveTo(fromRight, fromDown);
    context.lineTo(right, down);
    context.stroke();
  }
  context.restore();
  context.beginPath();
  const radius = goalRadius(camera, MIN_MARKED_GOAL_PX);
  context.arc(right, down, radius, 0, 2 * Math.PI);
  context.setLineDash(observesGoal(trial, agent, clampStep(trial, step)) ? [] : HIDDEN_DASHES);
  context.lineWidth = 2.5;
  context.strokeStyle = colour("--state-1");
  context.stroke();
  context.setLineDash([]);
  drawGoalHeading(brush, trial, i, radius);
}

function drawSelectedAbove(brush, trial, step) {
  const frame = clampStep(trial, step), {agent} = view;
  if (view.observation) {
    drawObservedVehicles(brush, trial, agent, step);
    drawObservedSets(brush, trial, agent, step);
  }
  if (!trial.present[at(trial, agent, frame)]) return;
  outlineVehicle(brush, trial, agent, step, "--ink", 2.5);
}

function outlineVehicle(brush, trial, vehicle, step, colourName, width) {
  const {context, camera} = brush, pose = poseAt(trial, vehicle, step), {scene} = trial;
  const enlargement = Math.max(1, MIN_LENGTH_PX / (scene.length[vehicle] * camera.scale));
  const long = Math.max((scene.length[vehicle] * enlargement + 2 * OUTLINE_GAP_M) * camera.scale, 14);
  const wide = Math.max((scene.width[vehicle] * enlargement + 2 * OUTLINE_GAP_M) * camera.scale, 10);
  context.save();
  context.translate(...toPixels(brush, pose.x, pose.y));
  context.rotate(-pose.heading);
  context.lineWidth = width;
  context.lineJoin = "round";
  context.strokeStyle = colour(colourName);
  context.strokeRect(-long / 2, -wide / 2, long, wide);
  context.restore();
}

function drawObservedRoads(brush, trial, agent, step) {
  const {present, roads} = observationOf(trial, agent, clampStep(trial, step)), {context} = brush;
  if (!present) return;
  context.save();
  context.beginPath();
  for (const one of roads) {
    const [right, down] = toPixels(brush, one.x - one.dx, one.y - one.dy);
    if (one.dx === 0 && one.dy === 0) context.rect(right - 3, down - 3, 6, 6);
    else {
      context.moveTo(right, down);
      context.lineTo(...toPixels(brush, one.x + one.dx, one.y + one.dy));
    }
  }
  context.lineCap = "round";
  context.lineWidth = Math.max(2, 0.25 * brush.camera.scale);
  context.strokeStyle = colour("--observed-road");
  context.stroke();
  context.restore();
}

function drawObservedVehicles(brush, trial, agent, step) {
  const {present, vehicles} = observationOf(trial, agent, clampStep(trial, step)), {context} = brush;
  if (!present) return;
  const pose = poseAt(trial, agent, step), from = toPixels(brush, pose.x, pose.y);
  context.save();
  context.strokeStyle = colour("--observed");
  context.globalAlpha = 0.25;
  context.lineWidth = 1;
  context.beginPath();
  for (const {vehicle} of vehicles) {
    const other = poseAt(trial, vehicle, step);
    context.moveTo(...from);
    context.lineTo(...toPixels(brush, other.x, other.y));
  }
  context.stroke();
  context.restore();
  for (const {vehicle} of vehicles) outlineVehicle(brush, trial, vehicle, step, "--observed", 1.5);
}

/* A frame around every observed stop line, a ring around every observed candidate, and one with its number around every
 * goal after the current one. */
function drawObservedSets(brush, trial, agent, step) {
  const {candidates, controls, goals} = observationOf(trial, agent, clampStep(trial, step)), {context} = brush;
  context.save();
  context.strokeStyle = context.fillStyle = colour("--observed");
  context.lineJoin = "round";
  context.lineWidth = 1.5;
  for (const {line} of controls) frameLine(brush, line);
  for (const {point} of candidates) ringGoal(brush, point, CANDIDATE_PX);
  drawNumberedGoals(brush, goals.filter(({number}) => Math.round(number) > 0), NEXT_GOAL_PX);
  context.restore();
}

/* Rings of a width around goals, with their numbers. */
function drawNumberedGoals(brush, goals, width) {
  const {context} = brush;
  context.save();
  context.font = GOAL_NUMBER_FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const {point, number} of goals) {
    ringGoal(brush, point, width);
    context.fillText(String(Math.round(number)), ...toPixels(brush, ...point));
  }
  context.restore();
}

function ringGoal(brush, point, width) {
  const {context, camera} = brush;
  context.beginPath();
  context.arc(...toPixels(brush, ...point), goalRadius(camera, MIN_MARKED_GOAL_PX), 0, 2 * Math.PI);
  context.lineWidth = width;
  context.stroke();
}

function frameLine(brush, [left, right]) {
  const {context} = brush, length = Math.max(Math.hypot(left[0] - right[0], left[1] - right[1]), CONTROL_GAP_M);
  const x = (CONTROL_GAP_M * (left[0] - right[0])) / length, y = (CONTROL_GAP_M * (left[1] - right[1])) / length;
  const corners = [
    [left[0] + x + y, left[1] + y - x], [right[0] - x + y, right[1] - y - x],
    [right[0] - x - y, right[1] - y + x], [left[0] + x - y, left[1] + y + x]];
  context.beginPath();
  for (const corner of corners) context.lineTo(...toPixels(brush, ...corner));
  context.closePath();
  context.stroke();
}
