// Two rankings side by side, and what moved between them.

import { byId, el, shortName } from "./dom.js";
import { empty, skeletons, tile } from "./tiles.js";

const lists = { plain: byId("plain-list"), walk: byId("walk-list") };

export function showNothing() {
  sayChoice("");
  byId("columns").hidden = true;
  byId("no-results").hidden = false;
}

export function showLoading(number) {
  sayChoice("");
  byId("columns").hidden = false;
  byId("no-results").hidden = true;
  for (const list of Object.values(lists)) list.replaceChildren(...skeletons(number));
  byId("plain-note").textContent = "";
  byId("walk-note").textContent = "Searching …";
}

export function showResults(found, method, choose) {
  const shown = found.hits.length;
  if (!shown) {
    for (const list of Object.values(lists)) list.replaceChildren(empty("Nothing found", "No other item is in the collection yet."));
    byId("walk-note").textContent = "";
    return;
  }
  const placeAfter = new Map(found.hits.map((hit) => [hit.key, hit.rank]));
  for (const hit of found.hits) for (const key of hit.duplicates) placeAfter.set(key, hit.rank);
  lists.plain.replaceChildren(...found.plain.map((key, row) => plainTile(key, row + 1, placeAfter.get(key), choose)));
  lists.walk.replaceChildren(...found.hits.map((hit) => walkTile(hit, shown, choose)));
  const left = found.plain.filter((key) => !placeAfter.has(key)).length;
  byId("plain-note").textContent = left ? `${left} of ${found.plain.length} give way to others` : "the same items, in another order";
  byId("walk-note").textContent = summary(found.hits, shown, method);
  sayChoice(found.fitted && found.note ? `${method}: ${found.note}` : "");
}

/** What the method did with the collection and why, where it had a choice. */
function sayChoice(text) {
  byId("choice-note").textContent = text;
  byId("choice-note").hidden = text === "";
}

/** Said above the walk's list, of hits that are not yet its own. */
export function showNote(text) {
  byId("walk-note").textContent = text;
}

function summary(hits, shown, method) {
  const moved = hits.map((hit) => movement(hit, shown).kind);
  const number = (kind) => moved.filter((each) => each === kind).length;
  const words = [`${number("new")} new`, `${number("up")} moved up`, `${number("same")} stayed`];
  return moved.every((kind) => kind === "same") ? `${method}: the same as plain search` : `${method}: ${words.join(", ")}`;
}

/** What the walk did to a hit: new among those shown, up, down or the same. */
export function movement(hit, shown) {
  if (hit.plain_rank === null || hit.plain_rank > shown) {
    const from = hit.plain_rank === null ? "far down" : `at place ${hit.plain_rank}`;
    return { kind: "new", text: "new", spoken: `new, ${from} in plain search` };
  }
  const steps = hit.plain_rank - hit.rank;
  if (steps > 0) return { kind: "up", text: `▲ ${steps}`, spoken: `up ${steps}` };
  if (steps < 0) return { kind: "down", text: `▼ ${-steps}`, spoken: `down ${-steps}` };
  return { kind: "same", text: "=", spoken: "same place" };
}

function walkTile(hit, shown, choose) {
  const moved = movement(hit, shown);
  const label = `${hit.rank}: ${shortName(hit.key)}, ${moved.spoken}, similarity ${hit.similarity.toFixed(2)}. Why is it here?`;
  const item = entry(hit.key, hit.rank, moved.kind, moved.text, label, choose);
  item.querySelector(".chip").title = moved.spoken;
  if (hit.duplicates.length) {
    item.querySelector(".face").append(el("span", { className: "stack" }, `+${hit.duplicates.length}`));
  }
  return item;
}

function plainTile(key, rank, after, choose) {
  const gone = after === undefined;
  const spoken = gone ? "not among the first along the graph" : `place ${after} along the graph`;
  const label = `${rank}: ${shortName(key)}, ${spoken}. Why?`;
  const item = entry(key, rank, gone ? "out" : "to", gone ? "out" : after === rank ? "=" : `→ ${after}`, label, choose);
  item.firstChild.classList.toggle("leaves", gone);
  return item;
}

function entry(key, rank, kind, text, label, choose) {
  const under = el("span", { className: "under" },
    el("span", { className: "rank" }, String(rank)), el("span", { className: `chip ${kind}` }, text));
  const button = tile(key, label, choose, under);
  button.setAttribute("aria-pressed", "false");
  for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => markTwins(key, true));
  for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => markTwins(key, false));
  return el("li", {}, button);
}

const tiles = () => Object.values(lists).flatMap((list) => [...list.querySelectorAll(".tile")]);

function markTwins(key, on) {
  const same = tiles().filter((each) => each.dataset.key === key);
  for (const each of same) each.classList.toggle("twin", on && same.length > 1);
}

export function markChosen(key) {
  for (const each of tiles()) each.setAttribute("aria-pressed", String(each.dataset.key === key));
}
