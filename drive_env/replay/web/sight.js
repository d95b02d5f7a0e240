/* What was an agent given? Its own numbers are recorded; which vehicles and roads it saw follows from the state by the
 * rules of docs/observation.md. */

/* The frame whose observation an agent holds: who waits keeps the one it had when it last acted. */
function seenFrame(trial, agent, frame) {
  while (frame > 0 && hasFlag(recording, trial, agent, frame, "invalid_step")) frame--;
  return frame;
}

/* A picture asks for the same sight several times. */
const lastSights = new Map();

function sightOf(trial, agent, frame) {
  const last = lastSights.get(trial);
  if (last && last.agent === agent && last.frame === frame) return last.sight;
  const sight = findSight(trial, agent, frame);
  lastSights.set(trial, {agent, frame, sight});
  return sight;
}

/* {present, own: quantity by name, vehicles: [...], roads: [...]}; places in the agent's frame, x ahead and y left. */
function findSight(trial, agent, frame) {
  const own = ownFeatures(trial, agent, frame);
  if (!(own["ego/present"] > 0)) return {present: false, own, vehicles: [], roads: []};
  const seen = seenFrame(trial, agent, frame), i = at(trial, agent, seen);
  const pose = {x: trial.x[i], y: trial.y[i], cos: Math.cos(trial.heading[i]), sin: Math.sin(trial.heading[i])};
  return {present: true, own, vehicles: seenVehicles(trial, agent, seen, pose), roads: seenRoads(trial, pose)};
}

function ownFeatures(trial, agent, frame) {
  const values = {}, own = trial.own(), count = recording.own.length;
  recording.own.forEach((feature, place) => {
    values[feature.name] = own[at(trial, agent * count + place, frame)] / feature.scale;
  });
  return values;
}

function seenVehicles(trial, agent, frame, pose) {
  const distances = new Float64Array(trial.vehicles);
  for (let vehicle = 0; vehicle < trial.vehicles; vehicle++) {
    const i = at(trial, vehicle, frame), canBeSeen = vehicle !== agent && trial.present[i];
    distances[vehicle] = canBeSeen ? Math.hypot(trial.x[i] - pose.x, trial.y[i] - pose.y) : Infinity;
  }
  return nearest(distances, recording.config.partners).map((vehicle) => {
    const i = at(trial, vehicle, frame);
    return {vehicle, distance: distances[vehicle], speed: trial.speed[i], ...inFrame(pose, trial.x[i], trial.y[i])};
  });
}

/* Indices of the nearest, at most `slots` and none beyond the view, ascending; of two equally near the lower first. */
function nearest(distances, slots) {
  const farthest = slots ? distances.slice().sort()[Math.min(slots, distances.length) - 1] : -1;
  const limit = Math.min(farthest, recording.config.view_radius_m), inside = [];
  distances.forEach((distance, index) => distance <= limit && inside.push(index));
  for (let last = inside.length - 1; inside.length > slots; last--)
    if (distances[inside[last]] === limit) inside.splice(last, 1);
  return inside;
}

function inFrame(pose, x, y) {
  const dx = x - pose.x, dy = y - pose.y;
  return {ahead: dx * pose.cos + dy * pose.sin, left: dy * pose.cos - dx * pose.sin};
}

function seenRoads(trial, pose) {
  const segments = segmentsOf(trial.scene);
  const distances = Float64Array.from(segments, (segment) => Math.hypot(segment.x - pose.x, segment.y - pose.y));
  return nearest(distances, recording.config.roads).map((index) => segments[index]);
}

const segmentsByScene = new Map();

function segmentsOf(scene) {
  if (!segmentsByScene.has(scene)) segmentsByScene.set(scene, splitRoads(scene, segmentLimit()));
  return segmentsByScene.get(scene);
}

/* Roads as an observation has them: straight pieces of at most `limit_m`. */
function splitRoads(scene, limit_m) {
  const segments = [];
  for (let road = 0; road < scene.roadKind.length; road++) {
    const first = scene.roadStart[road], end = scene.roadStart[road + 1], kind = scene.roadKind[road];
    const before = segments.length;
    for (let i = first; i + 1 < end; i++) addPieces(segments, scene, i, kind, limit_m);
    const isPoint = segments.length === before;
    if (isPoint) segments.push({x: scene.roadX[first], y: scene.roadY[first], dx: 0, dy: 0, kind});
  }
  return segments;
}

function addPieces(segments, scene, i, kind, limit_m) {
  const {roadX, roadY} = scene, dx = roadX[i + 1] - roadX[i], dy = roadY[i + 1] - roadY[i];
  const length = Math.fround(Math.hypot(dx, dy));
  if (length < 1e-4) return; // a repeated point
  const pieces = Math.ceil(Math.fround(length / limit_m));
  for (let piece = 0; piece < pieces; piece++) {
    const share = (piece + 0.5) / pieces;
    segments.push({
      x: roadX[i] + share * dx, y: roadY[i] + share * dy, dx: (0.5 * dx) / pieces, dy: (0.5 * dy) / pieces, kind});
  }
}

/* The layout shows half a segment's length as a share of half the limit. */
function segmentLimit() {
  const feature = recording.slots.find((one) => one.name === "roads/half_length");
  return 2 / feature.scale;
}
