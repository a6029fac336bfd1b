// What is alive in the pages: keys, the panel of what is pointed at, one line followed through the chart,
// and a run's progress. Without it, every page still says all it has to say.
"use strict";

const panel = () => document.getElementById("panel");

function leave(typing) {
  panel()?.classList.remove("up");
  if (typing) typing.blur();
}

function step(down) {
  const links = [...document.querySelectorAll(".hits h2 a")];
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + (down ? 1 : -1)))].focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, select, textarea") ? event.target : null;
  if (event.key === "Escape") leave(typing);
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const box = event.key === "/" && document.querySelector("input[type=search]");
  if (box) {
    event.preventDefault();
    box.focus();
    box.select();
  } else if (/^Arrow(Down|Up)$/.test(event.key) && document.querySelector(".hits h2 a")) {
    event.preventDefault();
    step(event.key === "ArrowDown");
  }
});

// What is known of the result or the chunk that is pointed at, or has the focus, stands in the panel.
function tell(owner, near) {
  const held = owner.querySelector(":scope > template")?.content ?? owner.querySelector(".facts");
  if (!held || !panel()) return;
  for (const other of document.querySelectorAll("[data-facts].on")) other.classList.remove("on");
  owner.classList.add("on");
  panel().replaceChildren(...held.cloneNode(true).childNodes);
  panel().classList.toggle("up", near);
}

// One candidate is followed through the chart and the table; pointed at in the chart, its arithmetic stands beside it.
function follow(place, inChart) {
  const chart = document.querySelector(".flow");
  if (!chart) return;
  chart.classList.toggle("following", place !== null);
  for (const one of document.querySelectorAll("[data-c]")) one.classList.toggle("on", one.dataset.c === place);
  const shown = document.getElementById("followed");
  const row = inChart && place !== null ? document.getElementById(`c${place}`) : null;
  shown.hidden = row === null;
  if (row === null) return;
  const title = document.createElement("h3");
  title.textContent = row.querySelector(".name a").textContent;
  shown.replaceChildren(title, ...row.querySelector(".facts").cloneNode(true).childNodes);
}

for (const [kind, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
  document.addEventListener(kind, (event) => {
    const owner = event.target.closest?.("[data-facts]"), line = event.target.closest?.("[data-c]");
    // Where the panel is a sheet over the page, only what asks for it brings it up: the scores, or a chunk.
    if (owner && on) tell(owner, event.target.closest(".scores, .chunk") !== null);
    if (line) follow(on ? line.dataset.c : null, line.matches(".line"));
  });
}

document.addEventListener("click", (event) => {
  const line = event.target.closest(".flow .line");
  if (line) document.querySelector(`#c${line.dataset.c} details`).open = true;
  if (!event.target.closest("[data-facts], #panel")) panel()?.classList.remove("up");
});

// A setting of the search that is chosen asks again; whatever asks says so, until the answer is there.
document.addEventListener("change", (event) => {
  if (event.target.matches("form.ask .settings select")) event.target.form.requestSubmit();
});
for (const begun of ["submit", "htmx:beforeRequest"]) {
  addEventListener(begun, () => document.body.classList.add("asking"));
}
for (const ended of ["pageshow", "htmx:afterRequest"]) {
  addEventListener(ended, () => document.body.classList.remove("asking"));
}

function watch(run) {
  const shown = document.getElementById("progress");
  if (!shown) return;
  const [bar, words] = [shown.querySelector("progress"), shown.querySelector("span")];
  shown.hidden = false;
  const events = new EventSource(`/api/v1/index/runs/${run}/events`);
  events.addEventListener("run", (event) => {
    const state = JSON.parse(event.data);
    if (state.total) {
      bar.max = state.total;
      bar.value = state.done;
    } else bar.removeAttribute("value");
    const doing = `${state.step ?? "starting"} ${state.done} of ${state.total}`;
    words.textContent = state.state === "running" ? doing : state.state;
    if (state.state !== "running") {
      events.close();
      location.reload();
    }
  });
  events.onerror = () => {
    events.close();
    words.textContent = "the server does not answer; the run may go on";
  };
}

document.addEventListener("click", async (event) => {
  if (event.target.id !== "run") return;
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/api/v1/index/runs", { method: "POST", headers, body: "{}" });
  const said = await answer.json();
  if (answer.ok) {
    event.target.disabled = true;
    watch(said.id);
    return;
  }
  const shown = document.getElementById("progress");
  shown.hidden = false;
  shown.querySelector("span").textContent = said.detail;
});

const going = document.querySelector("[data-run][data-state=running]");
if (going) watch(going.dataset.run);
