// The OpenAPI description as a page to read.

import * as api from "./api.js";
import { byId, el } from "./dom.js";
import { token } from "./door.js";
import { setUpTheme } from "./theme.js";

const EXAMPLES = {
  "post /api/search": ['curl -F picture=@cat.jpg -F top=5 {origin}/api/search', `curl --json '{"key": "cats/01.jpg", "method": "cas", "top": 5}' {origin}/api/search`],
  "post /api/explain": [`curl --json '{"key": "cats/01.jpg", "hit": "cats/07.jpg"}' {origin}/api/explain`],
  "post /api/items": ['curl -H "Authorization: Bearer $TOKEN" -F picture=@cat.jpg -F key=cats/99.jpg {origin}/api/items'],
  "delete /api/items": ['curl -X DELETE -H "Authorization: Bearer $TOKEN" "{origin}/api/items?key=cats/99.jpg"'],
};

function kind(schema = {}) {
  if (schema.anyOf) return schema.anyOf.map(kind).filter((each) => each !== "null").join(" or ");
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.enum) return schema.enum.join(", ");
  if (schema.type === "array") return `list of ${kind(schema.items)}`;
  const low = schema.minimum ?? schema.minLength;
  const high = schema.maximum ?? schema.maxLength;
  const range = low !== undefined && high !== undefined ? ` ${low} to ${high}` : "";
  return schema.format === "binary" ? "file" : `${schema.type ?? "anything"}${range}`;
}

function table(rows) {
  return el("div", { className: "scroll" }, el("table", {}, ...rows.map(([name, type, text]) =>
    el("tr", {}, el("th", { scope: "row" }, el("code", {}, name)), el("td", {}, type), el("td", {}, text ?? "")))));
}

function fieldsOf(schema) {
  const needed = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([name, rule]) =>
    [name, kind(rule) + (needed.has(name) ? ", needed" : ""), rule.description]);
}

function operation(path, verb, spec, schemas) {
  const [first, ...rest] = (spec.description ?? "").split(/[.;] /);
  const inside = el("div", { className: "inside" }, rest.length ? el("p", {}, spec.description) : null);
  if (spec.security) inside.append(el("p", { className: "note" }, "Needs the token: Authorization: Bearer TOKEN."));
  for (const example of EXAMPLES[`${verb} ${path}`] ?? []) {
    inside.append(el("pre", {}, el("code", {}, example.replace("{origin}", location.origin))));
  }
  if (spec.parameters) {
    inside.append(el("h3", {}, "Query"), table(spec.parameters.map((each) => [each.name, kind(each.schema), each.description ?? each.schema.description])));
  }
  for (const [type, content] of Object.entries(spec.requestBody?.content ?? {})) {
    inside.append(el("h3", {}, type), table(fieldsOf(content.schema)));
  }
  for (const [status, answer] of Object.entries(spec.responses)) {
    const schema = Object.values(answer.content ?? {})[0]?.schema;
    const model = schemas[schema?.$ref?.split("/").pop()];
    if (model && model.title !== "Failure") inside.append(el("h3", {}, `Answer ${status}: ${kind(schema)}`), table(fieldsOf(model)));
  }
  const refusals = Object.keys(spec.responses).filter((status) => status >= 400);
  if (refusals.length) inside.append(el("p", { className: "note" }, `Refusals, each with one sentence: ${refusals.join(", ")}.`));
  return el("details", { className: "card operation" },
    el("summary", {}, el("span", { className: `verb ${verb}` }, verb.toUpperCase()), el("code", {}, path), el("span", { className: "note" }, first.replace(/\.$/, ""))),
    inside);
}

async function start() {
  setUpTheme(() => {});
  const description = await api.description();
  if (token() !== null) byId("raw").href = URL.createObjectURL(new Blob([JSON.stringify(description)], { type: "application/json" }));
  byId("about").textContent = `${description.info.description} Version ${description.info.version}.`;
  const groups = new Map();
  for (const [path, verbs] of Object.entries(description.paths)) {
    for (const [verb, spec] of Object.entries(verbs)) {
      const group = spec.tags?.[0] ?? "other";
      groups.set(group, [...(groups.get(group) ?? []), operation(path, verb, spec, description.components.schemas)]);
    }
  }
  for (const [group, operations] of groups) byId("operations").append(el("h2", {}, group), ...operations);
}

start();
