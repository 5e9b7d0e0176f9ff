// The page: what the server says of the desk becomes rooms side by side, and stays so by the stream.

import { RoomView } from "./room.js";
import { icon, make, say, speak } from "./text.js";
import { get, listen, post, Refused } from "./wire.js";

const THEMES = ["auto", "light", "dark"];
const byId = (id) => document.getElementById(id);
const rooms = new Map();
let shownRoom = null;

function remembered(key, otherwise) {
  try {
    return localStorage.getItem(`discreet.${key}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(`discreet.${key}`, value);
  } catch {
    // Without storage it holds until the page is closed.
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  remember("theme", theme);
}

function drawTop(state) {
  document.documentElement.lang = state.words.lang;
  document.title = say("title");
  byId("title").textContent = say("title");
  byId("subtitle").textContent = state.demo ? say("subtitle.demo") : state.me.name;
  const theme = byId("theme");
  theme.title = say("theme.label");
  theme.setAttribute("aria-label", say("theme.label"));
  theme.append(icon("theme"));
  theme.addEventListener("click", () => {
    const next = THEMES.indexOf(document.documentElement.dataset.theme) + 1;
    setTheme(THEMES[next % THEMES.length]);
  });
  const decisions = byId("decisions");
  decisions.hidden = !state.decisions;
  decisions.querySelector(".says").textContent = say("decision.show");
  const box = decisions.querySelector("input");
  box.checked = remembered("decisions", "on") === "on";
  const apply = () => document.body.classList.toggle("with-decisions", state.decisions && box.checked);
  box.addEventListener("change", () => {
    remember("decisions", box.checked ? "on" : "off");
    apply();
  });
  apply();
  const leave = byId("leave");
  leave.hidden = state.demo;
  leave.title = say("state.leave");
  leave.setAttribute("aria-label", say("state.leave"));
  leave.append(icon("leave"));
  leave.addEventListener("click", async () => {
    await post("/api/leave", {});
    location.reload();
  });
}

/** Which room (or the things to try) is in front where only one fits. */
function show(name) {
  shownRoom = name;
  for (const pane of byId("desk").children) pane.classList.toggle("shown", pane.dataset.pane === name);
  for (const tab of byId("tabs").querySelectorAll("button")) {
    tab.setAttribute("aria-current", String(tab.dataset.pane === name));
    if (tab.dataset.pane === name) tab.classList.remove("news");
  }
}

function drawTabs(state) {
  const tabs = byId("tabs");
  const entries = state.rooms.map((room) => [room.id, room.title]);
  if (state.things.length) entries.push(["try", say("try.title")]);
  tabs.hidden = entries.length < 2;
  tabs.setAttribute("aria-label", say("rooms"));
  for (const [name, title] of entries) {
    const tab = make("button", "", title);
    tab.type = "button";
    tab.dataset.pane = name;
    tab.addEventListener("click", () => show(name));
    tabs.append(tab);
  }
}

function drawThings(state) {
  const panel = make("aside", "things");
  panel.dataset.pane = "try";
  panel.setAttribute("aria-label", say("try.title"));
  panel.append(make("h2", "", say("try.title")));
  const list = make("ol");
  for (const thing of state.things) {
    const room = rooms.get(thing.room);
    if (!room) continue;
    const person = room.data.members.find((one) => one.id === thing.person)?.name ?? thing.person;
    const item = make("li");
    const button = make("button", "try", say("try.button"));
    button.type = "button";
    button.setAttribute("aria-label", `${say("try.button")}: ${thing.title}`);
    button.addEventListener("click", () => {
      show(thing.room);
      room.composer.fill(thing.text, thing.person, thing.reply_to_bot ? room.lastOf(state.bot) : null);
      item.classList.add("tried");
    });
    const line = make("p", "line");
    line.append(make("small", "", say("try.as", { person, room: room.data.title })), button);
    item.append(make("h3", "", thing.title), make("p", "", thing.hint), line);
    list.append(item);
  }
  panel.append(list);
  return panel;
}

function stateIs(name) {
  const line = byId("state");
  if (name === "ended") {
    location.reload();
    return;
  }
  line.className = `state ${name}`;
  line.textContent = say(`state.${name}`);
}

function hear(message) {
  const room = rooms.get(message.room);
  room?.take(message);
  if (message.room !== shownRoom && message.author?.bot) {
    byId("tabs").querySelector(`[data-pane="${CSS.escape(message.room)}"]`)?.classList.add("news");
  }
}

async function start() {
  setTheme(remembered("theme", "auto"));
  const state = await get("/api/state");
  speak(state.words);
  drawTop(state);
  drawTabs(state);
  const desk = byId("desk");
  document.body.classList.add(state.demo ? "demo" : "run");
  for (const data of state.rooms) {
    const room = new RoomView(data, state);
    room.element.dataset.pane = data.id;
    rooms.set(data.id, room);
    desk.append(room.element);
  }
  if (state.things.length) desk.append(drawThings(state));
  if (state.rooms.length) show(state.rooms[0].id);
  const at = (act) => (data) => rooms.get(data.room)?.[act](data);
  listen(state.seq, { message: hear, typing: at("typing"), draft: at("draft"), note: at("note") }, stateIs);
}

start().catch((error) => {
  if (!(error instanceof Refused)) throw error;
  byId("desk").append(make("p", "empty", say(error.code)));
});
