// The method and what may be chosen of it: presets, and parameters where the service lets visitors choose them.

import { byId, el } from "./dom.js";

const form = byId("picker");
const TOPS = [10, 20, 40, 100, 200];
let cards = [];
let usual = { method: "", parameters: {} };

export function buildPicker(known, standard, most, changed) {
  cards = known;
  usual = standard;
  const families = [...new Set(cards.map((card) => card.family))];
  byId("method").replaceChildren(...families.map((family) => el("optgroup", { label: family },
    ...cards.filter((card) => card.family === family).map((card) => el("option", { value: card.name }, card.name)))));
  byId("top").replaceChildren(...TOPS.filter((top) => top <= Math.max(most, TOPS[0])).map((top) => el("option", { value: top }, String(top))));
  byId("top").value = String(Math.min(20, most));
  byId("method").value = usual.method;
  showCard();
  let waiting;
  form.addEventListener("input", (event) => {
    if (event.target.id === "method") showCard();
    markChanged();
    clearTimeout(waiting);
    waiting = setTimeout(() => form.reportValidity() && changed(), event.target.type === "number" ? 500 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    byId("fold").checked = false;
    showCard();
    changed();
  });
}

export function setMethod(name) {
  if (!cards.some((card) => card.name === name) || byId("method").value === name) return;
  byId("method").value = name;
  showCard();
}

/** What a search needs to know: only parameters that differ from their defaults are sent. */
export function choice() {
  const parameters = {};
  for (const field of form.querySelectorAll("[data-parameter]")) {
    const value = valueOf(field);
    if (value !== JSON.parse(field.dataset.default)) parameters[field.dataset.parameter] = value;
  }
  // A picture may be dropped before the methods have come: the service then takes its own.
  const chosen = cards.length ? { method: byId("method").value, top: Number(byId("top").value) } : {};
  // The collection may prefer its method with parameters of its own: they hold until one is chosen.
  const untouched = chosen.method === usual.method && !Object.keys(parameters).length;
  return { ...chosen, fold: byId("fold").checked, parameters: untouched ? usual.parameters : parameters };
}

function valueOf(field) {
  if (field.type === "checkbox") return field.checked;
  if (field.type === "number") return field.value === "" ? JSON.parse(field.dataset.default) : Number(field.value);
  return field.value;
}

function showCard() {
  const card = cards.find((each) => each.name === byId("method").value);
  byId("method-summary").textContent = card.summary[0].toUpperCase() + card.summary.slice(1) + ".";
  byId("method-summary").title = card.paper;
  byId("parameters").replaceChildren(...(card.presets.length ? [presetField(card.presets)] : []), ...card.parameters.map(parameterField));
}

function presetField(presets) {
  const field = el("select", { "data-parameter": "preset", "data-default": JSON.stringify("") },
    el("option", { value: "" }, "the defaults"), ...presets.map((preset) => el("option", { value: preset.name }, preset.name)));
  const text = el("small", {}, "");
  field.addEventListener("input", () => (text.textContent = presets.find((preset) => preset.name === field.value)?.text ?? ""));
  return el("label", { className: "field" }, el("span", {}, "preset"), field, text);
}

function parameterField(parameter) {
  const common = { "data-parameter": parameter.name, "data-default": JSON.stringify(parameter.default) };
  const text = el("small", {}, parameter.text);
  if (parameter.type === "bool") {
    return el("label", { className: "check" }, el("input", { type: "checkbox", checked: parameter.default, ...common }),
      el("span", {}, parameter.name, " ", text));
  }
  const field = parameter.choices.length
    ? el("select", common, ...parameter.choices.map((value) => el("option", { value, selected: value === parameter.default }, String(value))))
    : el("input", { type: parameter.type === "str" ? "text" : "number", value: parameter.default, min: parameter.low ?? "", max: parameter.high ?? "",
        step: parameter.type === "int" ? "1" : "any", placeholder: parameter.default, title: parameter.range, ...common });
  return el("label", { className: "field" }, el("span", {}, parameter.name), field, text);
}

function markChanged() {
  for (const field of form.querySelectorAll("[data-parameter]")) {
    field.closest("label").classList.toggle("changed", valueOf(field) !== JSON.parse(field.dataset.default));
  }
}
