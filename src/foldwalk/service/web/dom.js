// Elements without markup: text is always text, whoever wrote it.

export const byId = (id) => document.getElementById(id);

/** An element with properties and children; a string child becomes a text node. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const shortName = (key) => key.split("/").pop() || key;

export const count = (number) => number.toLocaleString("en-GB");

export function milliseconds(seconds) {
  const ms = seconds * 1000;
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)} s` : `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
