/* How are traffic lights and signs drawn? A stop line in the colour that is shown; a symbol beside that of a sign. */

const STOP_LINE_M = 0.6, MIN_STOP_LINE_PX = 2.5;
const SIGN_RADIUS_M = 0.9, MIN_SIGN_PX = 4.5;

/* Corners of a sign's symbol on a circle, the first at this angle below the horizontal. */
const SIGNS = {
  stop: {corners: 8, first: Math.PI / 8, fill: "--stop", edge: "--card"},
  yield: {corners: 3, first: Math.PI / 2, fill: "--card", edge: "--stop"},
};

function drawControls(brush, trial, step) {
  const frame = clampStep(trial, step);
  for (let control = 0; control < trial.scene.controlKind.length; control++) drawControl(brush, trial, control, frame);
}

function drawControl(brush, trial, control, frame) {
  const {context, camera} = brush, {scene} = trial;
  const kind = recording.control_kinds[scene.controlKind[control]];
  const line = Array.from({length: 4}, (_, i) => scene.controlLine[i * scene.controlKind.length + control]);
  const left = toPixels(brush, line[0], line[1]), right = toPixels(brush, line[2], line[3]);
  context.beginPath();
  context.moveTo(...left);
  context.lineTo(...right);
  context.lineCap = "butt";
  context.lineWidth = Math.max(STOP_LINE_M * camera.scale, MIN_STOP_LINE_PX);
  context.strokeStyle = colour(kind === "light" ? `--light-${trial.lights[at(trial, control, frame)]}` : "--sign-line");
  context.stroke();
  if (kind === "light") return;
  const length = Math.max(1, Math.hypot(right[0] - left[0], right[1] - left[1]));
  const radius = Math.max(SIGN_RADIUS_M * camera.scale, MIN_SIGN_PX);
  drawSign(context, SIGNS[kind], right[0] + (1.5 * radius * (right[0] - left[0])) / length,
    right[1] + (1.5 * radius * (right[1] - left[1])) / length, radius);
}

function drawSign(context, sign, right, down, radius) {
  context.beginPath();
  for (let i = 0; i < sign.corners; i++) {
    const angle = sign.first + (2 * Math.PI * i) / sign.corners;
    context.lineTo(right + radius * Math.cos(angle), down + radius * Math.sin(angle));
  }
  context.closePath();
  context.fillStyle = colour(sign.fill);
  context.fill();
  context.lineWidth = Math.max(1, 0.2 * radius);
  context.strokeStyle = colour(sign.edge);
  context.stroke();
}

/* ---- legend ---- */

/* What lights show and which signs there are in the scenes of the recording; nothing where there are none. */
function controlsLegend() {
  const kinds = new Set(scenes.flatMap((scene) => [...scene.controlKind]).map((code) => recording.control_kinds[code]));
  const lights = kinds.has("light") ? Object.entries(recording.light_states).map(([code, name]) =>
    element("span", {class: "other"}, element("i", {class: `swatch light-${code}`}), ` ${name}`)) : [];
  const signs = Object.keys(SIGNS).filter((kind) => kinds.has(kind)).map((kind) =>
    element("span", {class: "other"}, signMark(kind), ` ${kind} sign`));
  if (!lights.length && !signs.length) return [];
  return [element("p", {class: "others controls"}, "Stop lines: ", ...lights, ...signs)];
}

function signMark(kind) {
  const canvas = element("canvas", {class: "sign", width: 32, height: 32, "aria-hidden": "true"});
  drawSign(canvas.getContext("2d"), SIGNS[kind], 16, kind === "yield" ? 12 : 16, 13);
  return canvas;
}
