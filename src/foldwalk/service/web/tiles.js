// Pictures of the collection as buttons; where an item has no picture, its key is shown instead.

import { el, shortName } from "./dom.js";
import { showPicture } from "./door.js";

let collection = { thumbnails: false, version: 0 };

export function useCollection(info) {
  collection = info;
}

export const pictureAddress = (key) =>
  collection.thumbnails ? `/api/thumbnail?key=${encodeURIComponent(key)}&v=${collection.version}` : null;

function hue(text) {
  let sum = 0;
  for (const letter of text) sum = (sum * 31 + letter.codePointAt(0)) % 360;
  return sum;
}

/** The square of a tile; `source` is a picture from elsewhere, such as the visitor's own. */
export function face(key, source = pictureAddress(key)) {
  const square = el("span", { className: "face" });
  const showName = () => {
    const name = el("span", { className: "name" }, shortName(key));
    name.style.setProperty("--hue", hue(key));
    square.replaceChildren(name);
  };
  if (source === null) {
    showName();
    return square;
  }
  const image = el("img", { alt: "", loading: "lazy", decoding: "async", onerror: showName });
  square.append(image);
  showPicture(image, source);
  return square;
}

export function tile(key, label, choose, under = null) {
  return el(
    "button",
    { className: "tile", type: "button", title: key, "aria-label": label, "data-key": key, onclick: () => choose(key) },
    face(key),
    under,
  );
}

export function skeletons(number) {
  return Array.from({ length: number }, () =>
    el("li", { className: "skeleton", "aria-hidden": "true" }, el("span", { className: "face" }), el("span", { className: "under" })),
  );
}

export function empty(title, text) {
  return el("li", { className: "empty" }, el("strong", {}, title), text);
}
