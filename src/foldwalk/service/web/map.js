// The map: asks for the drawing until it is there, and turns pointer and keys into moves and searches.

import { collectionMap } from "./api.js";
import { byId, count, el, shortName } from "./dom.js";
import { showPicture } from "./door.js";
import { MapView } from "./map_view.js";
import { face, pictureAddress } from "./tiles.js";

const canvas = byId("canvas");
const tip = byId("map-tip");
const ASK_AGAIN_MS = 2000;
const map = new MapView(canvas, pictureAddress);
let drawn = null;
let asking = false;

export async function openMap() {
  if (asking) return;
  asking = true;
  try {
    for (;;) {
      const answer = await collectionMap();
      if (answer.keys.length && answer.version !== drawn?.version) show(answer);
      if (answer.state === "failed" && !answer.keys.length) throw new Error(answer.error);
      if (answer.state !== "drawing") break;
      if (!drawn) state("drawing", "Drawing the map", "The first time this takes a few seconds for each thousand items.");
      await new Promise((done) => setTimeout(done, ASK_AGAIN_MS));
    }
    if (!drawn) state("", "Nothing to draw yet", "Add pictures to the collection first.");
  } catch (error) {
    if (!drawn) state("", "There is no map", error.message);
  } finally {
    asking = false;
  }
}

export const markOnMap = (query, plain, walk) => {
  map.mark(query, plain, walk);
  legend(walk.length > 0);
  byId("zoom-found").hidden = walk.length === 0;
};

export const repaint = () => {
  if (drawn) show(drawn);
};

function state(kind, title, text) {
  byId("map-state").className = `map-state ${kind}`;
  byId("map-state").replaceChildren(...(title ? [el("strong", {}, title), text] : []));
}

function show(answer) {
  drawn = answer;
  state("", "", "");
  byId("map-switch").disabled = false;
  map.setPoints({ ...answer, colours: colours(answer.keys), sheet: answer.sheet && sheet(answer) });
  const some = answer.total > answer.keys.length ? `${count(answer.keys.length)} of ${count(answer.total)} items. ` : "";
  byId("map-note").textContent = `${some}Near here means near in the collection. Choose an item to search from it.`;
}

function sheet({ sheet: layout, version }) {
  const picture = new Image();
  picture.onload = () => map.draw();
  showPicture(picture, `/api/map/pictures?v=${version}`);
  return { ...layout, picture };
}

function legend(marked) {
  byId("map-legend").replaceChildren(...(marked
    ? [el("span", { className: "query" }, "query"), el("span", { className: "walk" }, "found along the graph"), el("span", {}, "found by similarity alone")]
    : []));
}

/** What an item belongs to: its folder, or its name without the number at its end. */
const groupOf = (key) => (key.includes("/") ? key.slice(0, key.lastIndexOf("/")) : key.replace(/[-_ ]*\d*(\.\w+)?$/, ""));

function colours(keys) {
  const groups = [...new Set(keys.map(groupOf))].sort();
  if (groups.length < 2 || groups.length > keys.length / 2) return keys.map(() => getComputedStyle(canvas).borderTopColor);
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
    || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  // The golden angle keeps the hues of neighbouring names far apart.
  const colour = new Map(groups.map((group, row) => [group, `hsl(${(row * 137.5) % 360} 62% ${(dark ? 58 : 42) + 8 * (row % 3)}%)`]));
  return keys.map((key) => colour.get(groupOf(key)));
}

function showTip(row, x, y) {
  canvas.classList.toggle("pointing", row >= 0);
  tip.hidden = row < 0;
  if (row < 0) return;
  const key = drawn.keys[row];
  if (tip.dataset.key !== key) {
    tip.dataset.key = key;
    tip.replaceChildren(face(key), el("p", {}, shortName(key)));
  }
  const left = x + 150 > canvas.clientWidth ? x - 142 : x + 14;
  const up = y + 190 > canvas.clientHeight ? Math.max(4, y - 180) : y + 14;
  tip.style.transform = `translate(${left}px, ${up}px)`;
}

export function setUpMap(choose) {
  const pointers = new Map();
  let travelled = 0;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    if (pointers.size === 1) travelled = 0;
    map.crosshair = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    const now = [event.offsetX, event.offsetY];
    if (!before) {
      if (drawn) showTip(map.nearest(...now), ...now);
      return;
    }
    const moved = [now[0] - before[0], now[1] - before[1]];
    travelled += Math.hypot(...moved);
    pointers.set(event.pointerId, now);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const spread = (place) => Math.max(1, Math.hypot(place[0] - other[0], place[1] - other[1]));
      map.zoomBy(spread(now) / spread(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else if (travelled > 4) {
      canvas.classList.add("dragging");
      map.panBy(...moved);
      showTip(-1);
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, (event) => {
      pointers.delete(event.pointerId);
      canvas.classList.remove("dragging");
      if (end === "pointercancel" || travelled > 4 || !drawn) return;
      const row = map.nearest(event.offsetX, event.offsetY);
      if (row >= 0) choose(drawn.keys[row]);
    });
  }
  canvas.addEventListener("pointerleave", () => showTip(-1));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    map.zoomBy(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = {
      ArrowLeft: () => map.panBy(60, 0), ArrowRight: () => map.panBy(-60, 0), ArrowUp: () => map.panBy(0, 60),
      ArrowDown: () => map.panBy(0, -60), "+": () => map.zoomBy(1.5), "=": () => map.zoomBy(1.5),
      "-": () => map.zoomBy(1 / 1.5), 0: () => map.showAll(),
      Enter: () => drawn && map.middle >= 0 && choose(drawn.keys[map.middle]),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    map.crosshair = true;
    moves[event.key]();
    if (drawn && map.middle >= 0) byId("map-spoken").textContent = `In the middle: ${shortName(drawn.keys[map.middle])}`;
  });
  canvas.addEventListener("blur", () => {
    map.crosshair = false;
    map.draw();
  });
  byId("zoom-in").addEventListener("click", () => map.zoomBy(1.6));
  byId("zoom-out").addEventListener("click", () => map.zoomBy(1 / 1.6));
  byId("zoom-found").addEventListener("click", () => map.showFound());
  byId("zoom-all").addEventListener("click", () => map.showAll());
  byId("map-switch").addEventListener("change", (event) => map.walkTo(event.target.value === "after" ? 1 : 0));
}
