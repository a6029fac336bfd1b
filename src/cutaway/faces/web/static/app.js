// What is alive in the pages: keys, the card beside what is pointed at, one line followed through the chart,
// and a run's progress. Without it, every page still says all it has to say.
"use strict";

const hits = () => [...document.querySelectorAll(".hits h2 a")];

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape") { hideCard(); if (typing) event.target.blur(); return; }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    const box = document.querySelector("input[type=search]");
    if (box) { event.preventDefault(); box.focus(); box.select(); }
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const links = hits();
    if (!links.length) return;
    event.preventDefault();
    const at = links.indexOf(document.activeElement), step = event.key === "ArrowDown" ? 1 : -1;
    links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + step))].focus();
  }
});

const card = () => document.getElementById("card");
function hideCard() { card().hidden = true; }
function showCard(owner) {
  const held = owner.querySelector(":scope > template")?.content ?? owner.closest("article")?.querySelector(".way");
  if (!held) return;
  const shown = card(), box = owner.getBoundingClientRect();
  shown.replaceChildren(held.cloneNode(true));
  shown.hidden = false;
  const left = Math.min(box.left + 16, document.documentElement.clientWidth - shown.offsetWidth - 12);
  const above = box.top - shown.offsetHeight - 6;
  shown.style.left = `${Math.max(8, left) + scrollX}px`;
  shown.style.top = `${(above > 4 ? above : Math.min(box.bottom, innerHeight - shown.offsetHeight - 8) + 6) + scrollY}px`;
}

function follow(place) {
  const chart = document.querySelector(".flow");
  if (!chart) return;
  chart.classList.toggle("following", place !== null);
  for (const one of document.querySelectorAll("[data-c]")) one.classList.toggle("on", one.dataset.c === place);
}

for (const [kind, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
  document.addEventListener(kind, (event) => {
    const owner = event.target.closest?.("[data-card]"), line = event.target.closest?.("[data-c]");
    if (owner) on ? showCard(owner) : hideCard();
    if (line) follow(on ? line.dataset.c : null);
  });
}

function watch(run) {
  const shown = document.getElementById("progress");
  if (!shown) return;
  const [bar, words] = [shown.querySelector("progress"), shown.querySelector("span")];
  shown.hidden = false;
  const events = new EventSource(`/api/v1/index/runs/${run}/events`);
  events.addEventListener("run", (event) => {
    const state = JSON.parse(event.data);
    if (state.total) { bar.max = state.total; bar.value = state.done; } else bar.removeAttribute("value");
    words.textContent = state.state === "running" ? `${state.step ?? "starting"} ${state.done} of ${state.total}` : state.state;
    if (state.state !== "running") { events.close(); location.reload(); }
  });
  events.onerror = () => { events.close(); words.textContent = "the server does not answer; the run may go on"; };
}

document.addEventListener("click", async (event) => {
  if (event.target.id !== "run") return;
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/api/v1/index/runs", { method: "POST", headers, body: "{}" });
  const said = await answer.json();
  if (answer.ok) { event.target.disabled = true; watch(said.id); return; }
  const shown = document.getElementById("progress");
  shown.hidden = false;
  shown.querySelector("span").textContent = said.detail;
});

const going = document.querySelector("[data-run][data-state=running]");
if (going) watch(going.dataset.run);
