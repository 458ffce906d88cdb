// What is searched for: a picture that is dropped, chosen, pasted or one of the collection, or words.

import { byId, el, shortName } from "./dom.js";
import { showPicture } from "./door.js";
import { face, pictureAddress } from "./tiles.js";

const drop = byId("drop");
const input = byId("file");
let address = null;

export function setUpQuery(bring) {
  input.addEventListener("change", () => {
    if (input.files.length) bring(input.files[0]);
    input.value = ""; // the same file may be chosen again
  });
  // Anywhere on the page: a picture that misses the frame must not replace the page.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
  addEventListener("dragleave", (event) => event.relatedTarget || drop.classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files.length) bring(event.dataTransfer.files[0]);
  });
  addEventListener("paste", (event) => {
    const file = [...(event.clipboardData?.files ?? [])].find((each) => each.type.startsWith("image/"));
    if (file) bring(file);
  });
}

/** What is wrong with a file before it is sent; null if nothing is. */
export function complaint(file, limits) {
  if (file.size > limits.upload_bytes) {
    const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
    return `${file.name} has ${megabytes(file.size)} MB; the service takes at most ${megabytes(limits.upload_bytes)} MB.`;
  }
  return file.size ? null : `${file.name} is empty.`;
}

export function subjectFromFile(file) {
  if (address) URL.revokeObjectURL(address);
  address = URL.createObjectURL(file);
  return { file, address, name: file.name || "pasted picture" };
}

/** Offers a field for words where the collection can be searched by them, else says why it cannot. */
export function offerWords({ known, note }, bring) {
  byId("words").hidden = !known;
  byId("words-note").hidden = known;
  byId("words-note").textContent = note;
  byId("words").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = byId("words-text").value.trim();
    if (text) bring(text);
  });
}

export const subjectFromText = (text) => ({ text, name: `“${text}”` });

export const subjectFromKey = (key) => ({ key, name: key, address: pictureAddress(key) });

export function showSubject(subject) {
  drop.classList.toggle("filled", subject.text === undefined);
  byId("preview").replaceChildren(...shown(subject));
  byId("drop-words").firstElementChild.textContent = subject.text === undefined ? "Choose another" : "Drop a picture";
  const name = byId("query-name");
  name.hidden = false;
  name.textContent = subject.key === undefined ? subject.name : shortName(subject.key);
  name.title = subject.name;
  byId("drop-words").lastElementChild.textContent = subject.text === undefined ? name.textContent : "or choose, or paste one";
}

function shown(subject) {
  if (subject.text !== undefined) return [];
  return [subject.address ? picture(subject) : face(subject.key)];
}

function picture(subject) {
  // A file that the browser cannot show may still be one the service can read.
  const showName = (event) => event.target.replaceWith(face(subject.name, null));
  const image = el("img", { alt: "", onerror: showName });
  showPicture(image, subject.address);
  return image;
}
