// Points in the plane on a canvas: pan, zoom, pick, and a walk from one drawing to the other.

import { calm } from "./dom.js";
import { showPicture } from "./door.js";

const MARGIN = 0.9;
const REACH = 14; // pixels from a point that still count as on it
const LARGE_FROM = 110; // with no more points in sight, their own thumbnails are drawn
const WALK_MS = 1100;
const MOST_ZOOM = 60;

export class MapView {
  constructor(canvas, pictureAddress) {
    this.canvas = canvas;
    this.pictureAddress = pictureAddress;
    this.pictures = new Map();
    this.points = { keys: [], before: [], after: [], colours: [] };
    this.marks = { query: null, plain: new Set(), walk: new Set() };
    this.share = 1; // 0 is the drawing before the walk, 1 the one after
    this.crosshair = false;
    this.showAll();
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  setPoints(points) {
    this.points = points;
    this.sheet = points.sheet;
    this.rowOf = new Map(points.keys.map((key, row) => [key, row]));
    this.draw();
  }

  mark(query, plain, walk) {
    this.marks = { query, plain: new Set(plain), walk: new Set(walk) };
    this.draw();
  }

  /** Move every point to the other drawing. */
  walkTo(share) {
    cancelAnimationFrame(this.frame);
    const from = this.share;
    const began = performance.now();
    const step = (now) => {
      const time = calm() ? 1 : Math.min(1, (now - began) / WALK_MS);
      const eased = time < 0.5 ? 4 * time ** 3 : 1 - (-2 * time + 2) ** 3 / 2;
      this.share = from + (share - from) * eased;
      this.draw();
      if (time < 1) this.frame = requestAnimationFrame(step);
    };
    step(began);
  }

  // Where things are ------------------------------------------------------------------------------------

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const density = devicePixelRatio || 1;
    this.canvas.width = clientWidth * density;
    this.canvas.height = clientHeight * density;
    this.draw();
  }

  get scale() {
    return (MARGIN * Math.min(this.canvas.clientWidth, this.canvas.clientHeight) * this.zoom) / 2;
  }

  place(row) {
    const [x0, y0] = this.points.before[row];
    const [x1, y1] = this.points.after[row];
    const x = x0 + (x1 - x0) * this.share - this.centre[0];
    const y = y0 + (y1 - y0) * this.share - this.centre[1];
    // Twice as wide as high is how most screens are: the plane is stretched a little to fill them.
    return [this.canvas.clientWidth / 2 + x * this.scale * this.stretch, this.canvas.clientHeight / 2 + y * this.scale];
  }

  get stretch() {
    return Math.min(1.7, Math.max(1, this.canvas.clientWidth / this.canvas.clientHeight));
  }

  showAll() {
    this.zoom = 1;
    this.centre = [0, 0];
    this.draw();
  }

  /** Zoom to what was found. */
  showFound() {
    const rows = [this.marks.query, ...this.marks.walk].map((key) => this.rowOf?.get(key)).filter((row) => row !== undefined);
    if (!rows.length) return;
    const spots = rows.map((row) => this.points[this.share > 0.5 ? "after" : "before"][row]);
    const range = (axis) => [Math.min(...spots.map((spot) => spot[axis])), Math.max(...spots.map((spot) => spot[axis]))];
    const [[left, right], [top, bottom]] = [range(0), range(1)];
    this.centre = [(left + right) / 2, (top + bottom) / 2];
    this.zoom = Math.min(MOST_ZOOM, Math.max(1.01, 1.4 / Math.max(right - left, bottom - top, 0.05)));
    this.keepInSight();
  }

  zoomBy(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const zoom = Math.min(MOST_ZOOM, Math.max(1, this.zoom * factor));
    const offset = [(x - this.canvas.clientWidth / 2) / this.stretch, y - this.canvas.clientHeight / 2];
    const old = this.scale;
    this.zoom = zoom;
    this.centre = this.centre.map((value, axis) => value + offset[axis] / old - offset[axis] / this.scale);
    this.keepInSight();
  }

  panBy(dx, dy) {
    this.centre = [this.centre[0] - dx / (this.scale * this.stretch), this.centre[1] - dy / this.scale];
    this.keepInSight();
  }

  keepInSight() {
    this.centre = this.centre.map((value) => Math.min(1, Math.max(-1, value)));
    if (this.zoom === 1) this.centre = [0, 0];
    this.draw();
  }

  /** The row of the point nearest to a place on the canvas, or -1 where none is within `reach`. */
  nearest(x, y, reach = REACH) {
    let best = -1;
    let least = reach ** 2;
    for (let row = 0; row < this.points.keys.length; row++) {
      const [px, py] = this.place(row);
      const squared = (px - x) ** 2 + (py - y) ** 2;
      if (squared < least) [best, least] = [row, squared];
    }
    return best;
  }

  get middle() {
    return this.nearest(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2, Infinity);
  }

  // Drawing ---------------------------------------------------------------------------------------------

  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  }

  paint() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const pen = this.canvas.getContext("2d");
    const density = devicePixelRatio || 1;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(this.canvas);
    const seen = [];
    for (let row = 0; row < this.points.keys.length; row++) {
      const [x, y] = this.place(row);
      if (x > -40 && y > -40 && x < width + 40 && y < height + 40) seen.push([row, x, y]);
    }
    const large = seen.length <= LARGE_FROM && this.zoom > 1;
    const side = this.sheet ? Math.min(72, 11 + 4 * this.zoom) : Math.min(14, 5 + this.zoom);
    const frames = { query: style.caretColor, walk: style.borderTopColor, plain: style.color, other: style.backgroundColor };
    // What was found lies on top of the rest, the query on top of all.
    const rank = { other: 0, plain: 1, walk: 2, query: 3 };
    const kinds = seen.map(([row]) => this.kindOf(this.points.keys[row]));
    const order = seen.map((_, place) => place).sort((a, b) => rank[kinds[a]] - rank[kinds[b]]);
    const anyFound = this.marks.walk.size > 0;
    for (const place of order) {
      const kind = kinds[place];
      pen.globalAlpha = anyFound && kind === "other" ? 0.3 : 1;
      const size = side * [1, 1.25, 1.4, 1.9][rank[kind]];
      this.paintPoint(pen, ...seen[place], size, large, frames[kind], kind === "other" ? 1 : 3);
    }
    pen.globalAlpha = 1;
    if (this.crosshair) this.paintCrosshair(pen, width, height, style.color);
  }

  kindOf(key) {
    if (key === this.marks.query) return "query";
    return this.marks.walk.has(key) ? "walk" : this.marks.plain.has(key) ? "plain" : "other";
  }

  /** A small picture from the sheet, the item's own thumbnail where few are in sight, else a dot. */
  paintPoint(pen, row, x, y, side, large, frame, line) {
    const [left, top] = [x - side / 2, y - side / 2];
    const thumbnail = large && this.sheet ? this.thumbnail(this.points.keys[row]) : null;
    pen.strokeStyle = frame;
    pen.lineWidth = line;
    if (thumbnail?.complete && thumbnail.naturalWidth) {
      const cut = Math.min(thumbnail.naturalWidth, thumbnail.naturalHeight);
      const [dx, dy] = [(thumbnail.naturalWidth - cut) / 2, (thumbnail.naturalHeight - cut) / 2];
      pen.drawImage(thumbnail, dx, dy, cut, cut, left, top, side, side);
      pen.strokeRect(left, top, side, side);
    } else if (this.sheet?.picture.complete && this.sheet.picture.naturalWidth) {
      const { picture, columns, side: cell } = this.sheet;
      pen.drawImage(picture, (row % columns) * cell, Math.floor(row / columns) * cell, cell, cell, left, top, side, side);
      pen.strokeRect(left, top, side, side);
    } else {
      pen.fillStyle = this.points.colours[row];
      pen.beginPath();
      pen.arc(x, y, side / 2, 0, 7);
      pen.fill();
      pen.stroke();
    }
  }

  thumbnail(key) {
    const address = this.pictureAddress(key);
    if (!this.pictures.has(key)) {
      if (this.pictures.size > 600) this.pictures.clear();
      const picture = new Image();
      picture.onload = () => this.draw();
      showPicture(picture, address);
      this.pictures.set(key, picture);
    }
    return this.pictures.get(key);
  }

  paintCrosshair(pen, width, height, colour) {
    const row = this.middle;
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      pen.moveTo(width / 2 + 5 * dx, height / 2 + 5 * dy);
      pen.lineTo(width / 2 + 13 * dx, height / 2 + 13 * dy);
    }
    pen.stroke();
    if (row < 0) return;
    pen.beginPath();
    pen.arc(...this.place(row), 11, 0, 7);
    pen.stroke();
  }
}
