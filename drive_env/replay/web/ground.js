/* How is the map drawn? Level by level: asphalt under the lanes, then markings, then curbs. A layer larger than the
 * pane caches it and is redrawn when the scale changes, so that a frame costs one copy. */

/* Lane width where the file has none; asphalt between a lane's edge and the curb. */
const UNKNOWN_WIDTH_M = 3.6;
const SHOULDER_M = 0.9;
const STOP_SIGN_M = 0.9;

/* Kinds drawn as lines, lowest first: colour, width in metres, smallest width in pixels. */
const PAINT = [
  ["driveway", "--driveway", 0.3, 0.75], ["lane", "--lane", 0.15, 0.75], ["line", "--line", 0.2, 0.75],
  ["speed_bump", "--bump", 0.4, 1], ["edge", "--edge", 0.3, 1],
];

/* Margin of the layer beyond each side of the pane, as a share of the pane. */
const LAYER_MARGIN = 0.3;
/* While the scale changes, the layer is stretched; it is redrawn once the scale has been constant for this long. */
const ZOOM_REST_MS = 90;
const MAX_STRETCH = 1.6;

/* The roads of a scene by their levels, ascending; one level unless roads lie above each other. */
class Ground {
  constructor(scene, roadKinds) {
    const numbers = [...new Set(scene.pieceLevel)].sort((one, other) => one - other);
    this.levels = numbers.map((number) => new GroundLevel(number, roadKinds));
    const levelOf = new Map(this.levels.map((level) => [level.number, level]));
    scene.pieceRoad.forEach((road, piece) =>
      levelOf.get(scene.pieceLevel[piece]).addPiece(scene, piece, road, roadKinds[scene.roadKind[road]]));
    this.height_m = scene.level_height_m;
    this.lowest_m = scene.has_levels ? scene.roadZ.reduce((low, z) => Math.min(low, z), Infinity) : 0;
  }

  /* The index of the highest level that is not above a vehicle at this height of the road. */
  levelIndex(z_m) {
    // Half a level up, so that a vehicle is never below its own road.
    const number = Math.floor((z_m - this.lowest_m) / this.height_m + 0.5);
    return Math.max(0, this.levels.filter((level) => level.number <= number).length - 1);
  }

  draw(context, pixel_m) {
    for (const level of this.levels) level.draw(context, pixel_m);
  }
}

class GroundLevel {
  constructor(number, roadKinds) {
    this.number = number;
    this.lines = new Map(Object.values(roadKinds).map((kind) => [kind, new Path2D()]));
    this.asphalt = new Map();
    this.signs = [];
  }

  addPiece(scene, piece, road, kind) {
    const first = scene.pieceFirst[piece], end = scene.pieceEnd[piece];
    if (kind === "stop_sign") this.signs.push([scene.roadX[first], scene.roadY[first]]);
    if (end - first < 2) return;
    const path = new Path2D();
    for (let i = first; i < end; i++) path.lineTo(scene.roadX[i], scene.roadY[i]);
    if (kind === "crosswalk" || kind === "driveway" || kind === "speed_bump") path.closePath();
    this.lines.get(kind).addPath(path);
    if (kind !== "lane") return;
    const width = (scene.roadWidth[road] || UNKNOWN_WIDTH_M) + 2 * SHOULDER_M;
    if (!this.asphalt.has(width)) this.asphalt.set(width, new Path2D());
    this.asphalt.get(width).addPath(path);
  }

  /* The context's unit is a metre; `pixel_m` is the size of a pixel. */
  draw(context, pixel_m) {
    context.lineJoin = context.lineCap = "round";
    context.strokeStyle = colour("--asphalt");
    for (const [width, path] of this.asphalt) this.stroke(context, path, width);
    context.fillStyle = colour("--driveway-fill");
    context.fill(this.lines.get("driveway"));
    context.fillStyle = colour("--crosswalk");
    context.fill(this.lines.get("crosswalk"));
    for (const [kind, name, width_m, minPixels] of PAINT) {
      context.strokeStyle = colour(name);
      this.stroke(context, this.lines.get(kind), Math.max(width_m, minPixels * pixel_m));
    }
    context.fillStyle = colour("--stop");
    for (const [x, y] of this.signs) {
      context.beginPath();
      context.arc(x, y, Math.max(STOP_SIGN_M, 3 * pixel_m), 0, 2 * Math.PI);
      context.fill();
    }
  }

  stroke(context, path, width) {
    context.lineWidth = width;
    context.stroke(path);
  }
}

/* A cached picture of the ground around the camera's centre, at one scale. */
class GroundLayer {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.drawn = null;
    this.lastScale = 0;
    this.scaleSince_ms = 0;
  }

  show(context, ground, camera, size, now_ms) {
    if (this.isDue(ground, camera, size, now_ms)) this.render(ground, camera, size);
    const {left, high, scale} = this.drawn, [right, down] = camera.toScreen(left, high, size);
    const stretch = camera.scale / scale / size.ratio;
    // On whole pixels, so that a layer of the camera's scale is not blurred.
    const rounded = (position) => Math.round(position * size.ratio) / size.ratio;
    const width = this.canvas.width * stretch, height = this.canvas.height * stretch;
    context.drawImage(this.canvas, rounded(right), rounded(down), width, height);
  }

  isDue(ground, camera, size, now_ms) {
    const drawn = this.drawn;
    if (!drawn || drawn.ground !== ground || drawn.colours !== colours || drawn.ratio !== size.ratio) return true;
    const [left, high] = camera.toScene(0, 0, size), [right, low] = camera.toScene(size.width, size.height, size);
    const isInside = left >= drawn.left && right <= drawn.right && low >= drawn.low && high <= drawn.high;
    const stretch = camera.scale / drawn.scale;
    if (stretch === 1) return !isInside;
    if (camera.scale !== this.lastScale) {
      this.lastScale = camera.scale;
      this.scaleSince_ms = now_ms;
    }
    const isResting = now_ms - this.scaleSince_ms > ZOOM_REST_MS;
    if (!isResting) requestDraw();
    return isResting || !isInside || stretch > MAX_STRETCH;
  }

  render(ground, camera, size) {
    const {canvas} = this, {ratio} = size, scale = camera.scale * ratio;
    canvas.width = Math.ceil(size.width * (1 + 2 * LAYER_MARGIN) * ratio);
    canvas.height = Math.ceil(size.height * (1 + 2 * LAYER_MARGIN) * ratio);
    const wide = canvas.width / scale, tall = canvas.height / scale;
    const left = camera.x - wide / 2, high = camera.y + tall / 2;
    const context = canvas.getContext("2d", {alpha: false});
    context.fillStyle = colour("--land");
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.setTransform(scale, 0, 0, -scale, -left * scale, high * scale);
    ground.draw(context, 1 / camera.scale);
    this.drawn = {ground, colours, ratio, scale: camera.scale, left, right: left + wide, low: high - tall, high};
  }
}

/* ---- colours ---- */

/* Values of the page's custom properties, cached per theme. */
let colours = new Map();

function colour(name) {
  if (!colours.has(name)) {
    const style = getComputedStyle(document.documentElement);
    colours.set(name, style.getPropertyValue(name).trim());
  }
  return colours.get(name);
}

function clearColours() {
  colours = new Map();
}
