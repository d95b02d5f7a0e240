/* Which pixel shows which point of the scene? The scene's y points up, the screen's down; scale in pixels per metre. */

const MAX_SCALE = 80;
const MIN_SCALE = 0.2;
const FIT_MARGIN_M = 8;
/* Height of a pane's caption. */
const CAPTION_PX = 48;
/* A pane whose size changes by less than this keeps its camera. */
const SIZE_TOLERANCE_PX = 8;

class Camera {
  constructor() {
    this.x = 0;
    this.y = 0;
    this.scale = 4;
    this.fitted = null;
  }

  toScreen(x, y, size) {
    return [size.width / 2 + (x - this.x) * this.scale, size.height / 2 - (y - this.y) * this.scale];
  }

  toScene(right, down, size) {
    return [this.x + (right - size.width / 2) / this.scale, this.y - (down - size.height / 2) / this.scale];
  }

  moveBy(right, down) {
    this.x -= right / this.scale;
    this.y += down / this.scale;
    this.fitted = null;
  }

  /* Zooms about a pixel: the point of the scene under it stays there. */
  zoomAt(factor, right, down, size) {
    const [x, y] = this.toScene(right, down, size);
    this.scale = Math.max(MIN_SCALE, Math.min(this.scale * factor, MAX_SCALE));
    const [newX, newY] = this.toScene(right, down, size);
    this.x += x - newX;
    this.y += y - newY;
    this.fitted = null;
  }

  fit(box, size) {
    const wide_m = box.right - box.left + 2 * FIT_MARGIN_M, high_m = box.high - box.low + 2 * FIT_MARGIN_M;
    const free_px = Math.max(size.height - CAPTION_PX, 1);
    this.scale = Math.max(MIN_SCALE, Math.min(size.width / wide_m, free_px / high_m, MAX_SCALE));
    this.x = (box.left + box.right) / 2;
    this.y = (box.low + box.high) / 2 + CAPTION_PX / 2 / this.scale;
    this.fitted = size;
  }

  /* Whether the camera was fitted to a pane of another size and has not moved since. */
  needsRefit(size) {
    if (!this.fitted) return false;
    const {width, height} = this.fitted;
    return Math.abs(width - size.width) > SIZE_TOLERANCE_PX || Math.abs(height - size.height) > SIZE_TOLERANCE_PX;
  }

  shows(x, y, size) {
    const [right, down] = this.toScreen(x, y, size);
    return right > 0 && right < size.width && down > CAPTION_PX && down < size.height;
  }
}

/* Bounding box of the positions of all agents of a scene in all trials, of their goals, and of the goals and lines of
 * scripts that an episode may draw. */
function boxOfAgents(scene) {
  const box = {left: Infinity, right: -Infinity, low: Infinity, high: -Infinity};
  for (const trial of trials.filter((one) => one.scene === scene))
    for (let agent = 0; agent < trial.agents; agent++) {
      for (let frame = 0; frame < trial.frames; frame++) {
        const i = at(trial, agent, frame);
        widen(box, trial.goalX[i], trial.goalY[i]);
        if (trial.present[i]) widen(box, trial.x[i], trial.y[i]);
      }
    }
  for (const [x, y] of candidatesOf(scene)) widen(box, x, y);
  for (const ends of scriptLinesOf(scene)) for (const [x, y] of ends) widen(box, x, y);
  return box;
}

function widen(box, x, y) {
  box.left = Math.min(box.left, x);
  box.right = Math.max(box.right, x);
  box.low = Math.min(box.low, y);
  box.high = Math.max(box.high, y);
}
