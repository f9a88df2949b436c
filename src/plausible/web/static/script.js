// What the browser adds: keys, and rating in the ranking without leaving one's place. All else works without it.
"use strict";

const keys = JSON.parse(document.body.dataset.keys);

const entries = () => [...document.querySelectorAll("[data-entry]")];
const marked = () => document.querySelector("#ranking > [data-current]");

/* The entry that keys act on: the one that had the focus last, at first the first. */
function mark(entry) {
  const before = marked();
  if (before === entry) return;
  before?.removeAttribute("data-current");
  entry?.setAttribute("data-current", "");
}

mark(document.querySelector("#ranking > li"));
document.addEventListener("focusin", (event) => {
  const entry = event.target.closest("#ranking > li");
  if (entry) mark(entry);
});

function say(text, wrong) {
  const status = document.getElementById("status");
  if (!status) return;
  status.classList.toggle("wrong", Boolean(wrong));
  status.textContent = text;
}

/* The element that does an action: of the marked entry, else of the page. */
function doer(action) {
  const wanted = `[data-action="${action}"]`;
  return marked()?.querySelector(wanted) ?? document.querySelector(wanted);
}

function move(step) {
  const all = entries();
  if (!all.length) return false;
  const here = marked()?.querySelector("[data-entry]");
  const at = here === document.activeElement || marked()?.contains(document.activeElement) ? all.indexOf(here) + step : 0;
  const next = all[Math.min(Math.max(at, 0), all.length - 1)];
  next.focus();
  next.closest("li").scrollIntoView({ block: "nearest" });
  return true;
}

function act(action) {
  if (action === "next" && move(1)) return true;
  if (action === "previous" && move(-1)) return true;
  const element = doer(action);
  if (!element) return false;
  if (action === "search") {
    element.focus();
    element.select();
  } else if (action === "help") {
    const details = element.parentElement;
    details.open = !details.open;
    element.scrollIntoView({ block: "nearest" });
    element.focus();
  } else {
    element.click();
  }
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.target.closest("input:not([type=checkbox], [type=file]), select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const action = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
  if (!action || (event.repeat && action !== "next" && action !== "previous")) return;
  if (act(action)) event.preventDefault();
});

/* Forms of the ranking are sent in the background, one after the other; the page is then exchanged. The focus goes on at
   once, so that the next key is meant for the next entry. */
let sent = Promise.resolve();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!document.getElementById("ranking") || form.elements.then?.value !== "list") return;
  event.preventDefault();
  const data = new URLSearchParams(new FormData(form, event.submitter));
  form.closest("#ranking > li")?.nextElementSibling?.querySelector("[data-entry]").focus();
  sent = sent.then(() => send(form.action, data));
});

async function send(address, data) {
  let answer, page;
  try {
    answer = await fetch(address, { method: "POST", body: data });
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    say("The reader does not answer. Is it still running? Nothing was lost; start it, and do this again.", true);
    return;
  }
  if (!answer.ok || !page.getElementById("status")) {
    say(page.querySelector("main .lead")?.textContent ?? "The reader gave no answer that can be read.", true);
    return;
  }
  const here = marked()?.id;
  exchange(page.getElementById("main"));
  document.title = page.title;
  history.replaceState(null, "", answer.url);
  const undone = document.getElementById(`item-${document.getElementById("status").dataset.undone}`);
  const place = undone ?? document.getElementById(here) ?? entries().at(-1)?.closest("li");
  (place?.querySelector("[data-entry]") ?? document.getElementById("main")).focus();
}

/* The status line stays the same element, so that screen readers say what changed in it. */
function exchange(main) {
  const status = document.getElementById("status");
  const fresh = main.querySelector("#status");
  status.className = fresh.className;
  status.dataset.undone = fresh.dataset.undone;
  status.replaceChildren(...fresh.childNodes);
  while (status.nextSibling) status.nextSibling.remove();
  let node = fresh.nextSibling;
  while (node) {
    const next = node.nextSibling;
    status.parentNode.append(node);
    node = next;
  }
}
