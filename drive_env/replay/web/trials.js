/* What follows from the recorded arrays? States, events, poses and collisions of the vehicles of a trial. */

/* States of a vehicle: outcomes of an agent (0: it drives), then the kinds of vehicles without an agent. */
const DRIVING = 0, GOAL = 1, COLLISION = 2, OFFROAD = 3, TIMEOUT = 4, OTHER = 5, LOG_REPLAY = 6, STATIC = 7,
  RULE_BASED = 8;
const STATE_NAMES = [
  "driving", "goal", "collision", "off-road", "timeout", "other", "log-replay vehicle", "static vehicle",
  "rule-based vehicle"];
/* The state whose mark an event has. */
const EVENT_STATES = {goal: GOAL, collision: COLLISION, offroad: OFFROAD, red_light: OTHER, stop_sign: OTHER};

/* The name of an event as the page writes it. */
function eventName(event) {
  const state = EVENT_STATES[event];
  return state === OTHER ? event.replace("_", " ") : STATE_NAMES[state];
}

/* Boxes this close count as overlapping: positions are rounded to centimetres. */
const OVERLAP_TOLERANCE_M = 0.03;

function makeScene(recording, number) {
  const read = (name) => recording.array(`scene${number}/${name}`);
  return {
    ...recording.scenes[number],
    roadX: read("road_x_m"), roadY: read("road_y_m"), roadStart: read("road_start"), roadKind: read("road_kind"),
    roadZ: recording.scenes[number].has_levels ? read("road_z_m") : null,
    pieceRoad: read("piece_road"), pieceFirst: read("piece_first"), pieceEnd: read("piece_end"),
    pieceLevel: read("piece_level"), roadWidth: read("road_width_m"),
    length: read("length_m"), width: read("width_m"), kind: read("kind"),
    controlKind: read("control_kind"), controlLine: read("control_line_m"), candidates: read("candidate_m"),
    scriptLine: read("script_line_m"), scriptGroup: read("script_group"), scriptOption: read("script_option"),
    scriptOptions: read("script_options"),
  };
}

function makeTrial(recording, scenes, number) {
  const head = recording.trials[number], scene = scenes[head.scene];
  const read = (name) => recording.array(`trial${number}/${name}`);
  const trial = {
    ...head, number, scene, agents: scene.agents, vehicles: scene.ids.length, lastStep: head.frames - 1,
    goalX: read("goal_x_m"), goalY: read("goal_y_m"), goalHeading: read("goal_heading_rad"), respawns: read("respawns"),
    weights: read("weights"), hidden: read("hidden"),
    x: read("x_m"), y: read("y_m"), z: read("z_m"), heading: read("heading_rad"), speed: read("speed_mps"),
    present: read("present"),
    followsLog: read("follows_log"),
    rewards: read("rewards"), rewardSums: recording.rewarded.map((term) => read(`reward_sum_${term}`)),
    eventBits: read("events"), flagBits: read("flags"), outcome: read("outcome"),
    disturbances: read("disturbances"), lights: read("light_state"), scriptFrame: read("script_frame"),
    actions: read("actions"),
    own: once(() => read("own")), sets: once(() => read("sets")),
  };
  trial.ends = agentEnds(trial);
  trial.events = listEvents(recording, trial);
  return trial;
}

/* A function that computes its result at the first call. */
function once(compute) {
  let result = null;
  return () => (result ??= compute());
}

const at = (trial, series, frame) => series * trial.frames + frame;
const clampStep = (trial, step) => Math.max(0, Math.min(Math.floor(step), trial.lastStep));

/* By agent: its outcome and the frame that set it, or null. */
function agentEnds(trial) {
  return Array.from({length: trial.agents}, (_, agent) => {
    for (let frame = 0; frame < trial.frames; frame++) {
      const outcome = trial.outcome[at(trial, agent, frame)];
      if (outcome) return {frame, outcome};
    }
    return null;
  });
}

function listEvents(recording, trial) {
  const events = [];
  for (let frame = 0; frame < trial.frames; frame++)
    for (let agent = 0; agent < trial.agents; agent++)
      recording.events.forEach((name, bit) => {
        if (trial.eventBits[at(trial, agent, frame)] & (1 << bit))
          events.push({frame, agent, state: EVENT_STATES[name], name});
      });
  return events;
}

function stateOf(trial, vehicle, frame) {
  if (vehicle >= trial.agents) return stateOfNonAgent(trial, vehicle, frame);
  const end = trial.ends[vehicle];
  return end && frame >= end.frame ? end.outcome : DRIVING;
}

/* Non-agents are in this order: log-replay, rule-based and static vehicles. Rule-based ones may follow their logs for
 * some time. */
function stateOfNonAgent(trial, vehicle, frame) {
  if (trial.followsLog[at(trial, vehicle, frame)]) return LOG_REPLAY;
  const {agents, log_replays, rule_based} = trial.scene;
  return vehicle < agents + log_replays + rule_based ? RULE_BASED : STATIC;
}

function hasFlag(recording, trial, agent, frame, name) {
  return (trial.flagBits[at(trial, agent, frame)] >> recording.flags.indexOf(name)) & 1;
}

/* Whether an agent waited in the step before a frame: its action had no effect, and it kept its observation. This is
 * not the flag `invalid_step`, which a step under a disturbance has, too. */
function hasWaited(recording, trial, agent, frame) {
  return frame > 0 && hasFlag(recording, trial, agent, frame - 1, "waits");
}

/* Whether a disturbance, by its name in the config, is on. */
function isDisturbed(trial, agent, frame, name) {
  return (trial.disturbances[at(trial, agent, frame)] & (recording.disturbances[name] ?? 0)) !== 0;
}

function vehicleName(scene, vehicle) {
  return vehicle < scene.agents ? `agent_${vehicle}` : `object ${scene.ids[vehicle]}`;
}

function trialName(recording, trial) {
  const episodes = recording.trials[recording.trials.length - 1].episode;
  return episodes ? `episode ${trial.episode + 1}, trial ${trial.index + 1}` : `trial ${trial.index + 1}`;
}

/* How many agents are in each state, by state. */
function countStates(trial, frame) {
  const counts = new Array(LOG_REPLAY).fill(0);
  for (let agent = 0; agent < trial.agents; agent++) counts[stateOf(trial, agent, frame)]++;
  return counts;
}

/* The weight of a reward term for an agent. */
const weightOf = (recording, trial, agent, term) => trial.weights[recording.terms.indexOf(term) * trial.agents + agent];

/* Reward of an agent over a trial up to a frame: by the index of a term, and in total. */
const termUpTo = (trial, agent, frame, term) => trial.rewardSums[term][at(trial, agent, frame)];

function rewardUpTo(trial, agent, frame) {
  let sum = 0;
  for (let i = 0; i <= frame; i++) sum += trial.rewards[at(trial, agent, i)];
  return sum;
}

/* Whether an agent gets a reward of a term, given by its index, in a trial. */
function isRewarded(trial, agent, term) {
  const first = at(trial, agent, 0);
  return trial.rewardSums[term].subarray(first, first + trial.frames).some((sum) => sum !== 0);
}

function goalDistance(trial, agent, frame) {
  const i = at(trial, agent, frame);
  return Math.hypot(trial.goalX[i] - trial.x[i], trial.goalY[i] - trial.y[i]);
}

/* The first step at which an agent is more than `limit_m` from its position in another trial, or null. */
function divergenceStep(one, other, agent, limit_m) {
  for (let frame = 0; frame <= Math.min(one.lastStep, other.lastStep); frame++) {
    const i = at(one, agent, frame), j = at(other, agent, frame);
    if (Math.hypot(one.x[i] - other.x[j], one.y[i] - other.y[j]) > limit_m) return frame;
  }
  return null;
}

/* Whether an agent appears at another start in a frame: it has reached its goal in that frame or before. */
function respawnsIn(trial, vehicle, frame) {
  if (vehicle >= trial.agents || frame === 0) return false;
  return trial.respawns[at(trial, vehicle, frame)] !== trial.respawns[at(trial, vehicle, frame - 1)];
}

/* Pose of a vehicle, interpolated between two frames if it drives from one to the other; headings by the shorter
 * turn. */
function poseAt(trial, vehicle, step) {
  const frame = clampStep(trial, step), i = at(trial, vehicle, frame);
  const isBetween = frame < trial.lastStep && trial.present[i] && trial.present[i + 1]
    && !respawnsIn(trial, vehicle, frame + 1);
  const share = isBetween ? step - frame : 0;
  if (share === 0) return {x: trial.x[i], y: trial.y[i], heading: trial.heading[i]};
  const turn = trial.heading[i + 1] - trial.heading[i];
  return {
    x: trial.x[i] + share * (trial.x[i + 1] - trial.x[i]),
    y: trial.y[i] + share * (trial.y[i + 1] - trial.y[i]),
    heading: trial.heading[i] + share * Math.atan2(Math.sin(turn), Math.cos(turn)),
  };
}

/* ---- collisions ---- */

/* Vehicles whose boxes overlap an agent's box in a frame and did not in the frame before. */
function newOverlaps(trial, agent, frame) {
  const found = [];
  for (let other = 0; other < trial.vehicles; other++)
    if (other !== agent && overlaps(trial, agent, other, frame) && !(frame && overlaps(trial, agent, other, frame - 1)))
      found.push(other);
  return found;
}

function overlaps(trial, one, other, frame) {
  if (!trial.present[at(trial, other, frame)]) return false;
  const a = boxOf(trial, one, frame), b = boxOf(trial, other, frame);
  return overlapsOnAxesOf(a, b) && overlapsOnAxesOf(b, a);
}

function boxOf(trial, vehicle, frame) {
  const i = at(trial, vehicle, frame), heading = trial.heading[i];
  return {
    x: trial.x[i], y: trial.y[i], cos: Math.cos(heading), sin: Math.sin(heading),
    halfLength: trial.scene.length[vehicle] / 2, halfWidth: trial.scene.width[vehicle] / 2,
  };
}

/* Whether no axis of box `a` separates it from box `b` (separating axis theorem). */
function overlapsOnAxesOf(a, b) {
  const dx = b.x - a.x, dy = b.y - a.y;
  const turnCos = Math.abs(a.cos * b.cos + a.sin * b.sin), turnSin = Math.abs(a.cos * b.sin - a.sin * b.cos);
  const ahead = a.halfLength + b.halfLength * turnCos + b.halfWidth * turnSin + OVERLAP_TOLERANCE_M;
  const left = a.halfWidth + b.halfLength * turnSin + b.halfWidth * turnCos + OVERLAP_TOLERANCE_M;
  return Math.abs(dx * a.cos + dy * a.sin) <= ahead && Math.abs(dy * a.cos - dx * a.sin) <= left;
}
