/* What did an agent observe? Its ego and trial features, goals, lights and signs are recorded; observed vehicles and
 * road segments follow from the state by the rules of docs/observation.md. */

/* The frame of an agent's observation: an agent that waits keeps that of its last acting step. */
function observedFrame(trial, agent, frame) {
  while (hasWaited(recording, trial, agent, frame)) frame--;
  return frame;
}

/* By trial: drawing a frame reads the same observation several times. */
const lastObservations = new Map();

function observationOf(trial, agent, frame) {
  const last = lastObservations.get(trial);
  if (last && last.agent === agent && last.frame === frame) return last.observation;
  const observation = makeObservation(trial, agent, frame);
  lastObservations.set(trial, {agent, frame, observation});
  return observation;
}

/* {present, own: quantity by name, vehicles: [...], roads: [...], candidates: [...], controls: [...], goals: [...]}; x
 * ahead and y left in the agent's frame. */
function makeObservation(trial, agent, frame) {
  const own = ownFeatures(trial, agent, frame);
  if (!(own["ego/present"] > 0)) return {present: false, own, vehicles: [], roads: [], ...emptySets()};
  const observed = observedFrame(trial, agent, frame), pose = framePose(trial, agent, observed);
  const vehicles = observedVehicles(trial, agent, observed, pose), roads = observedRoads(trial, pose);
  return {present: true, own, vehicles, roads, ...observedSets(trial, agent, frame, pose)};
}

/* The pose of an agent at a frame. */
function framePose(trial, agent, frame) {
  const i = at(trial, agent, frame), heading = trial.heading[i];
  return {x: trial.x[i], y: trial.y[i], z: trial.z[i], cos: Math.cos(heading), sin: Math.sin(heading)};
}

const emptySets = () => ({candidates: [], controls: [], goals: []});

/* The filled slots of the recorded sets: quantities by name, with the points of the scene that they have. */
function observedSets(trial, agent, frame, pose) {
  const sets = emptySets(), values = trial.sets();
  const floats = recording.sets.reduce((count, feature) => count + feature.slots, 0);
  let first = agent * floats;
  for (const feature of recording.sets) {
    const [set, name] = feature.name.split("/");
    for (let slot = 0; slot < feature.slots; slot++)
      (sets[set][slot] ??= {})[name] = values[at(trial, first + slot, frame)] / feature.scale;
    first += feature.slots;
  }
  for (const name of Object.keys(sets)) sets[name] = sets[name].filter((one) => one.kind > 0);
  for (const one of [...sets.candidates, ...sets.goals]) one.point = toScene(pose, one.x, one.y);
  for (const one of sets.controls)
    one.line = [toScene(pose, one.left_x, one.left_y), toScene(pose, one.right_x, one.right_y)];
  return sets;
}

/* The goals that an agent observes after its current one, {point, number}. */
function nextGoals(trial, agent, frame) {
  const isRecorded = recording.sets.some(({name, slots}) => name === "goals/number" && slots > 1);
  if (!isRecorded || !(ownFeatures(trial, agent, frame)["ego/present"] > 0)) return [];
  const pose = framePose(trial, agent, observedFrame(trial, agent, frame));
  return observedSets(trial, agent, frame, pose).goals.filter(({number}) => Math.round(number) > 0);
}

/* The point of the scene that is so far ahead and to the left of a pose. */
function toScene(pose, ahead, left) {
  return [pose.x + ahead * pose.cos - left * pose.sin, pose.y + ahead * pose.sin + left * pose.cos];
}

function ownFeatures(trial, agent, frame) {
  const values = {}, own = trial.own(), count = recording.own.length;
  recording.own.forEach((feature, index) => {
    values[feature.name] = own[at(trial, agent * count + index, frame)] / feature.scale;
  });
  return values;
}

function observedVehicles(trial, agent, frame, pose) {
  if (isDisturbed(trial, agent, frame, "partner_blindness")) return [];
  const distances = new Float64Array(trial.vehicles);
  for (let vehicle = 0; vehicle < trial.vehicles; vehicle++) {
    const i = at(trial, vehicle, frame);
    const isObservable = vehicle !== agent && trial.present[i] && isOnLevel(trial.scene, pose.z, trial.z[i]);
    distances[vehicle] = isObservable ? Math.hypot(trial.x[i] - pose.x, trial.y[i] - pose.y) : Infinity;
  }
  return nearest(distances, recording.config.partners).map((vehicle) => {
    const i = at(trial, vehicle, frame);
    return {vehicle, distance: distances[vehicle], speed: trial.speed[i], ...toFrame(pose, trial.x[i], trial.y[i])};
  });
}

/* Indices of the k nearest, k = `slots`, within the view radius, in ascending order; ties go to the lower index. */
function nearest(distances, slots) {
  const kth = slots ? distances.slice().sort()[Math.min(slots, distances.length) - 1] : -1;
  const limit = Math.min(kth, recording.config.view_radius_m), inside = [];
  distances.forEach((distance, index) => distance <= limit && inside.push(index));
  // More than k where several are at the limit: the last of them are removed.
  for (let last = inside.length - 1; inside.length > slots; last--)
    if (distances[inside[last]] === limit) inside.splice(last, 1);
  return inside;
}

function toFrame(pose, x, y) {
  const dx = x - pose.x, dy = y - pose.y;
  return {ahead: dx * pose.cos + dy * pose.sin, left: dy * pose.cos - dx * pose.sin};
}

function isOnLevel(scene, z, other) {
  return !scene.has_levels || Math.abs(z - other) <= recording.config.vertical_clearance_m;
}

function observedRoads(trial, pose) {
  const segments = segmentsOf(trial.scene);
  const distances = Float64Array.from(segments, (segment) =>
    isOnLevel(trial.scene, pose.z, segment.z) ? Math.hypot(segment.x - pose.x, segment.y - pose.y) : Infinity);
  return nearest(distances, recording.config.roads).map((index) => segments[index]);
}

const segmentsByScene = new Map();

function segmentsOf(scene) {
  if (!segmentsByScene.has(scene)) segmentsByScene.set(scene, splitRoads(scene, segmentLimit()));
  return segmentsByScene.get(scene);
}

/* Road segments as the core splits them: straight, at most `limit_m` long. */
function splitRoads(scene, limit_m) {
  const segments = [];
  for (let road = 0; road < scene.roadKind.length; road++) {
    const first = scene.roadStart[road], end = scene.roadStart[road + 1], kind = scene.roadKind[road];
    const firstSegment = segments.length;
    for (let i = first; i + 1 < end; i++) addPieces(segments, scene, i, kind, limit_m);
    const isPoint = segments.length === firstSegment;
    if (isPoint)
      segments.push({x: scene.roadX[first], y: scene.roadY[first], z: scene.roadZ?.[first] ?? 0, dx: 0, dy: 0, kind});
  }
  return segments;
}

/* Points closer than this count as one, as in the core. */
const REPEATED_POINT_M = 1e-4;

function addPieces(segments, scene, i, kind, limit_m) {
  const {roadX, roadY, roadZ} = scene, dx = roadX[i + 1] - roadX[i], dy = roadY[i + 1] - roadY[i];
  const length = Math.fround(Math.hypot(dx, dy));
  if (length < REPEATED_POINT_M) return;
  const pieces = Math.ceil(Math.fround(length / limit_m));
  for (let piece = 0; piece < pieces; piece++) {
    const share = (piece + 0.5) / pieces, z = roadZ ? roadZ[i] + share * (roadZ[i + 1] - roadZ[i]) : 0;
    segments.push({
      x: roadX[i] + share * dx, y: roadY[i] + share * dy, z, dx: (0.5 * dx) / pieces, dy: (0.5 * dy) / pieces, kind});
  }
}

/* An observation holds half a segment's length as a share of half the limit. */
function segmentLimit() {
  const feature = recording.slots.find((one) => one.name === "roads/half_length");
  return 2 / feature.scale;
}
