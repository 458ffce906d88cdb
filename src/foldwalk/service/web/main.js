// The page: what is asked, what is shown, and what the address bar says of it.

import * as api from "./api.js";
import { byId, count, el, milliseconds } from "./dom.js";
import { markOnMap, openMap, repaint, setUpMap } from "./map.js";
import { buildPicker, choice, setMethod } from "./picker.js";
import {
  complaint, offerWords, setUpQuery, showSubject, subjectFromFile, subjectFromKey, subjectFromText,
} from "./query.js";
import { markChosen, showLoading, showNote, showNothing, showResults } from "./results.js";
import { allowView, setUpTabs, showView, view } from "./tabs.js";
import { setUpTheme } from "./theme.js";
import { empty, skeletons, tile, useCollection } from "./tiles.js";
import { hideWhy, showWhy, showWhyLoading } from "./why.js";

const MOSAIC = 40;
let limits = {};
let subject = null;
let running = new AbortController();
let seed = 0;
let opener = null; // the tile that asked why, to which the keyboard returns
let wanted = null; // the question whose answer is still wanted

function complain(title, text) {
  const close = el("button", { className: "quiet", type: "button", onclick: () => (byId("notice").hidden = true) }, "Close");
  byId("notice").replaceChildren(el("div", {}, el("strong", {}, title), text), close);
  byId("notice").hidden = false;
}

// Searching ---------------------------------------------------------------------------------------------

async function search(next) {
  const chosen = choice();
  running.abort();
  running = new AbortController();
  const { signal } = running;
  subject = next;
  wanted = null;
  byId("notice").hidden = true;
  hideWhy();
  showSubject(subject);
  showLoading(Math.min(chosen.top, 40));
  allowView("results");
  if (view() !== "map") showView("results");
  try {
    const found = await api.search(subject, { ...chosen, wait: false }, signal);
    showFound(found);
    if (!found.fitted) searchAgain(subject, chosen, signal);
  } catch (error) {
    if (error.name !== "AbortError") failed(error);
  }
}

/** Plain hits stand in for a method that is not fitted yet: they give way as soon as it is. */
async function searchAgain(asked, chosen, signal) {
  try {
    const found = await api.search(asked, { ...chosen, wait: true }, signal);
    if (!signal.aborted) showFound(found);
  } catch (error) {
    if (error.name !== "AbortError") showNote(sentenceCase(error.message));
  }
}

function showFound(found) {
  showResults(found, found.method, (key) => why(key));
  if (!found.fitted) showNote(sentenceCase(found.note));
  markOnMap(subject.key ?? null, found.plain, found.hits.map((hit) => hit.key));
  showSpeed(found.seconds);
}

function failed(error) {
  byId("speed").replaceChildren();
  showNothing();
  const help = subject.file && error.status === 422 ? " JPEG, PNG, WebP, GIF, TIFF and most other formats can be read." : "";
  complain(help ? "This file cannot be searched with" : "The search failed", sentenceCase(error.message) + help);
}

const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function showSpeed(seconds) {
  const words = { describe: "described in ", fit: "prepared in ", search: "searched in " };
  const parts = Object.entries(words).filter(([stage]) => stage === "search" || seconds[stage] >= 0.001);
  byId("speed").replaceChildren(...parts.flatMap(([stage, text], row) =>
    [row ? " · " : "", text, el("b", {}, milliseconds(seconds[stage]))]));
}

function searchKey(key) {
  remember({ key });
  search(subjectFromKey(key));
}

function searchFile(file) {
  const wrong = complaint(file, limits);
  if (wrong) complain("This file cannot be searched with", wrong);
  else search(subjectFromFile(file));
}

function searchText(text) {
  remember({ text });
  search(subjectFromText(text));
}

async function why(key) {
  opener = document.activeElement;
  markChosen(key);
  showWhyLoading(key);
  const question = { subject };
  wanted = question;
  try {
    const explained = await api.explain(subject, key, choice(), running.signal);
    if (question === wanted) showWhy(key, question.subject, explained, { search: searchKey, close: closeWhy });
  } catch (error) {
    if (error.name === "AbortError" || question !== wanted) return;
    hideWhy();
    complain("There is no explanation", sentenceCase(error.message));
  }
}

function closeWhy() {
  wanted = null;
  hideWhy();
  markChosen(null);
  opener?.focus();
}

// Browsing ----------------------------------------------------------------------------------------------

async function browse() {
  const text = byId("find-text").value.trim();
  byId("shuffle").hidden = text !== "";
  try {
    const listing = await (text ? api.find(text, MOSAIC) : api.sample(MOSAIC, seed));
    if (text !== byId("find-text").value.trim()) return;
    const tiles = listing.keys.map((key) => tile(key, `Search from ${key}`, searchKey));
    const none = text ? empty("Nothing has that name", `No key contains “${text}”.`)
      : empty("The collection is empty", "Add pictures with  foldwalk add  and load this page again.");
    byId("mosaic").replaceChildren(...(tiles.length ? tiles : [none]));
  } catch (error) {
    complain("The collection cannot be shown", error.message);
  }
}

// The address bar ---------------------------------------------------------------------------------------

function remember(asked) {
  const address = new URL(location.href);
  address.search = new URLSearchParams({ ...asked, method: choice().method ?? "" });
  if (address.href !== location.href) history.pushState(null, "", address);
}

function followAddress() {
  const wanted = new URLSearchParams(location.search);
  if (wanted.get("method")) setMethod(wanted.get("method"));
  if (wanted.get("key")) search(subjectFromKey(wanted.get("key")));
  else if (wanted.get("text")) search(subjectFromText(wanted.get("text")));
}

// -------------------------------------------------------------------------------------------------------

async function start() {
  setUpTheme(repaint);
  byId("mosaic").replaceChildren(...skeletons(MOSAIC));
  setUpTabs((id) => id === "map" && openMap());
  setUpQuery(searchFile);
  setUpMap(searchKey);
  let waiting;
  byId("find-text").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(browse, 200);
  });
  byId("find").addEventListener("submit", (event) => event.preventDefault());
  byId("shuffle").addEventListener("click", () => {
    seed += 1;
    browse();
  });
  addEventListener("keydown", (event) => event.key === "Escape" && !byId("why").hidden && closeWhy());
  addEventListener("popstate", () => (location.search ? followAddress() : showView("browse")));
  try {
    const [info, cards] = await Promise.all([api.info(), api.methods()]);
    limits = info.limits;
    useCollection(info);
    const kind = info.thumbnails ? "pictures" : "items";
    byId("collection").replaceChildren(el("b", {}, info.name), ` · ${count(info.items)} ${kind}`);
    document.title = `${info.name} · foldwalk`;
    buildPicker(cards, info, info.limits.top, () => subject && search(subject));
    followAddress();
    api.words().then((found) => offerWords(found, searchText)).catch(() => {}); // may load the model
    await browse();
  } catch (error) {
    complain("The service cannot be reached", error.message);
  }
}

start();
