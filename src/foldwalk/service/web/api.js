// The service's HTTP interface. Every failure becomes an Error whose message is one sentence.

import { admitted, token, withToken } from "./door.js";

const TRIES_WHEN_BUSY = 4;

async function ask(path, options = {}) {
  for (let attempt = 1; ; attempt++) {
    let response;
    const shown = token();
    try {
      response = await fetch(path, { ...options, headers: withToken(options.headers) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The service does not answer; is it still running?");
    }
    if (response.ok) return response.json();
    if (response.status === 401) {
      await admitted(shown);
      continue;
    }
    if (response.status === 429 && attempt < TRIES_WHEN_BUSY) {
      await new Promise((done) => setTimeout(done, 1000 * Number(response.headers.get("retry-after") || 1)));
      continue;
    }
    const answer = await response.json().catch(() => ({}));
    throw Object.assign(new Error(answer.error || `The service answered ${response.status}.`), { status: response.status });
  }
}

/** JSON where the subject is in the collection or words, a form where it is a picture from outside. */
function post(path, subject, fields, signal) {
  if (subject.file === undefined) {
    const body = JSON.stringify({ key: subject.key, text: subject.text, ...fields });
    return ask(path, { method: "POST", body, signal, headers: { "Content-Type": "application/json" } });
  }
  const body = new FormData();
  for (const [name, value] of Object.entries(fields).filter(([, value]) => value !== undefined)) {
    body.append(name, typeof value === "object" ? JSON.stringify(value) : value);
  }
  body.append("picture", subject.file, "picture");
  return ask(path, { method: "POST", body, signal });
}

export const info = () => ask("/api/info");
export const words = () => ask("/api/words");
export const methods = () => ask("/api/methods");
export const sample = (number, seed) => ask(`/api/sample?count=${number}&seed=${seed}`);
export const find = (text, number) => ask(`/api/items?limit=${number}&contains=${encodeURIComponent(text)}`);
export const description = () => ask("/api/openapi.json");
export const collectionMap = () => ask("/api/map");
export const search = (subject, choice, signal) => post("/api/search", subject, choice, signal);
export const explain = (subject, hit, { method, parameters }, signal) =>
  post("/api/explain", subject, { hit, method, parameters }, signal);
