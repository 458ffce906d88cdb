// The strip that says why an item is where it is: a chain of pictures and how alike each is to the one before.

import { byId, el, shortName } from "./dom.js";
import { face } from "./tiles.js";

const strip = byId("why");

export function hideWhy() {
  strip.hidden = true;
  strip.replaceChildren();
}

export function showWhyLoading(key) {
  strip.hidden = false;
  strip.setAttribute("aria-busy", "true");
  strip.replaceChildren(
    el("div", { className: "why-head" }, el("div", { className: "why-title" }, title(key), el("p", { className: "note" }, "Looking for the way …"))),
    el("div", { className: "chain skeleton" }, ...[0, 1, 2].map(() => el("div", { className: "link" }, el("span", { className: "face" })))),
  );
}

export function showWhy(key, subject, explained, { search, close }) {
  strip.removeAttribute("aria-busy");
  const head = el("div", { className: "why-head" },
    places(explained),
    el("div", { className: "why-title" }, title(key), el("p", { className: "note" }, explained.sentence)),
    el("div", { className: "why-actions" },
      el("button", { className: "main-button", type: "button", onclick: () => search(key) }, "Search from this"),
      el("button", { className: "plain-button", type: "button", "aria-label": "Close the explanation", onclick: close }, "Close")));
  strip.replaceChildren(head, chain(explained.steps, subject));
  strip.focus({ preventScroll: true });
}

const title = (key) => el("h2", { id: "why-title", title: key }, `Why ${shortName(key)}?`);

function places({ rank, plain_rank: before }) {
  const spoken = `place ${before} by similarity alone, ${rank} along the graph`;
  return el("p", { className: "places", role: "img", "aria-label": spoken, title: spoken },
    el("span", {}, String(before)), "→", el("b", {}, String(rank)));
}

function chain(steps, subject) {
  const list = el("ol", { className: "chain", "aria-label": "The chain of pictures" });
  steps.forEach((step, row) => {
    if (row > 0) list.append(hop(step.similarity));
    const own = step.key === null || row === 0;
    const kind = row === 0 ? "link start" : row === steps.length - 1 ? "link end" : "link";
    const picture = step.key === null ? face(subject.text ?? "your picture", subject.address ?? null) : face(step.key);
    const words = own ? "query" : shortName(step.key);
    list.append(el("li", { className: kind }, el("figure", {}, picture, el("figcaption", { title: step.key ?? "" }, words))));
  });
  return list;
}

function hop(similarity) {
  const line = el("i", { "aria-hidden": "true" });
  line.style.setProperty("--weight", `${Math.max(1.5, 7 * similarity ** 2).toFixed(1)}px`);
  return el("li", { className: "hop", "aria-label": `similarity ${similarity.toFixed(2)}` }, similarity.toFixed(2), line);
}
