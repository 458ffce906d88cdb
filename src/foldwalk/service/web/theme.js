// Light, dark, or what the system says until someone chooses.

import { byId } from "./dom.js";

const root = document.documentElement;

export function remembered(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch {
    // Storage may be switched off; then nothing is remembered.
  }
  return null;
}

export function setUpTheme(changed) {
  const chosen = remembered("foldwalk-theme");
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  byId("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remembered("foldwalk-theme", root.dataset.theme);
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
