// Three views behind tabs; arrow keys move between them.

const tabs = [...document.querySelectorAll('[role="tab"]')];
const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
let changed = () => {};

export function setUpTabs(whenChanged) {
  changed = whenChanged;
  for (const tab of tabs) {
    tab.addEventListener("click", () => showView(panelOf(tab).id));
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!steps) return;
      const open = tabs.filter((each) => !each.disabled);
      const next = open[(open.indexOf(tab) + steps + open.length) % open.length];
      next.focus();
      showView(panelOf(next).id);
    });
  }
}

export const view = () => panelOf(tabs.find((tab) => tab.getAttribute("aria-selected") === "true")).id;

export function showView(id) {
  for (const tab of tabs) {
    const chosen = panelOf(tab).id === id;
    if (chosen) tab.disabled = false;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    panelOf(tab).hidden = !chosen;
  }
  changed(id);
}

export function allowView(id) {
  tabs.find((tab) => panelOf(tab).id === id).disabled = false;
}
