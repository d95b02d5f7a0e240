/* What has an episode drawn, and does the agent observe it? Lines of scripts, candidate goals, and hidden goals. */

const SCRIPT_LINE_PX = 3, CANDIDATE_LINE_PX = 1.5;

/* Lines of what waits or is not observed, and of candidates: lengths of a dash and of the gap after it, in pixels. */
const HIDDEN_DASHES = [5, 5], CANDIDATE_DASHES = [4, 4];

/* The indices of the scripts whose options were drawn, the only ones whose objects exist. */
function drawnScripts(trial) {
  return [...trial.scene.scriptGroup.keys()].filter((script) => trial.scriptFrame[at(trial, script, 0)] >= 0);
}

/* The left and right end of the line of each script, as points of the scene. */
function scriptLinesOf({scriptLine, scriptGroup}) {
  const count = scriptGroup.length, value = (i, script) => scriptLine[i * count + script];
  return [...scriptGroup.keys()].map((script) => [
    [value(0, script), value(1, script)], [value(2, script), value(3, script)]]);
}

/* The candidate goals, as points of the scene. */
function candidatesOf({candidates}) {
  const count = candidates.length / 2;
  return Array.from({length: count}, (_, i) => [candidates[i], candidates[count + i]]);
}

/* Draws the lines of the drawn scripts: dashed while the object waits, solid once an agent has crossed the line. */
function drawScripts(brush, trial, step) {
  const {context} = brush, frame = clampStep(trial, step), lines = scriptLinesOf(trial.scene);
  context.save();
  context.lineWidth = SCRIPT_LINE_PX;
  context.lineCap = "butt";
  context.strokeStyle = colour("--script");
  for (const script of drawnScripts(trial)) {
    context.setLineDash(trial.scriptFrame[at(trial, script, frame)] > 0 ? [] : HIDDEN_DASHES);
    context.beginPath();
    for (const end of lines[script]) context.lineTo(...toPixels(brush, ...end));
    context.stroke();
  }
  context.restore();
}

/* Draws dashed circles around the candidate goals of the scene, of which the episode has drawn one for each agent. */
function drawCandidates(brush, trial) {
  const {context, camera} = brush;
  context.save();
  context.lineWidth = CANDIDATE_LINE_PX;
  context.strokeStyle = colour("--script");
  context.setLineDash(CANDIDATE_DASHES);
  for (const candidate of candidatesOf(trial.scene)) {
    const [right, down] = toPixels(brush, ...candidate);
    context.beginPath();
    context.arc(right, down, goalRadius(camera, MIN_MARKED_GOAL_PX), 0, 2 * Math.PI);
    context.stroke();
  }
  context.restore();
}

/* Whether the agent observes its goal at a frame: if not, all features of the goal are 0. */
function observesGoal(trial, agent, frame) {
  if (recording.config.goal_reveal_s === null) return true;
  return observationOf(trial, agent, frame).own["ego/goal_distance"] > 0;
}

/* The drawn option of a group of scripts, as text for the panel. */
function optionText(trial, group) {
  const drawn = drawnScripts(trial).find((script) => trial.scene.scriptGroup[script] === group);
  if (drawn === undefined) return "without an object"; // no script has the drawn option
  return `${trial.scene.scriptOption[drawn]}, one of 0 to ${trial.scene.scriptOptions[drawn] - 1}`;
}
