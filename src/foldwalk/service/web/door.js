// The token to read with, where the service wants one: asked for once, kept in this tab, shown with each request.

import { el } from "./dom.js";

const KEPT = "foldwalk-token";
let asking = null;

export const token = () => sessionStorage.getItem(KEPT);

export const withToken = (headers = {}) => (token() === null ? headers : { ...headers, Authorization: `Bearer ${token()}` });

/** Wait for a token other than the one that was refused. */
export function admitted(refused) {
  if (token() !== refused) return Promise.resolve(); // it was given meanwhile
  asking ??= askForToken(refused !== null).finally(() => (asking = null));
  return asking;
}

function askForToken(wasWrong) {
  return new Promise((done, fail) => {
    const field = el("input", { id: "door-token", type: "password", required: true, pattern: "[!-~]+", autocomplete: "off" });
    const enter = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEPT, field.value);
      door.close();
      done();
    };
    const words = wasWrong ? "That is not the right token." : "This collection is shown to those who have its token.";
    const door = el("dialog", { className: "card door", "aria-labelledby": "door-title", onclose: () => leave() },
      el("form", { onsubmit: enter },
        el("h2", { id: "door-title" }, "Token"),
        el("p", { className: "note", role: "status" }, words),
        el("label", { className: "field" }, el("span", {}, "Token"), field),
        el("button", { className: "main-button", type: "submit" }, "Open")));
    const leave = () => {
      door.remove();
      fail(new Error("Nothing is shown without the token; load the page again to give it.")); // unless it was given
    };
    document.body.append(door);
    door.showModal();
  });
}

/** Show a picture of the service. An address cannot show the token: with one, the picture is fetched first. */
export async function showPicture(image, address) {
  if (token() === null || !address.startsWith("/")) {
    image.src = address;
    return;
  }
  try {
    const response = await fetch(address, { headers: withToken() });
    const fetched = URL.createObjectURL(await response.blob());
    for (const end of ["load", "error"]) image.addEventListener(end, () => URL.revokeObjectURL(fetched), { once: true });
    image.src = fetched;
  } catch {
    image.dispatchEvent(new Event("error"));
  }
}
