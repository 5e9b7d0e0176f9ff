// One message on the page: who, what, files, card, and for those who may see it the decision.

import { graft, icon, iconButton, knows, make, SAFE_LINK, say, size, written } from "./text.js";

const HUES = 8;
const WIDE = 4; // a row of more buttons is one that has to stay together, such as a week

/** A round sign of a person: initials and a colour that stays the same. */
export function avatar(author) {
  const sign = make("span", author.bot ? "avatar bot" : `avatar hue-${hue(author.id)}`);
  sign.setAttribute("aria-hidden", "true");
  if (author.bot) {
    const mark = make("img");
    mark.src = "/static/mark.svg";
    mark.alt = "";
    sign.append(mark);
  } else {
    const parts = author.name.split(/\s+/).filter((part) => /^[\p{L}\p{N}]/u.test(part));
    const letters = parts.length > 1 ? [parts[0], parts[parts.length - 1]] : parts;
    sign.textContent = letters.map((part) => [...part][0]).join("").toUpperCase() || "·";
  }
  return sign;
}

function hue(id) {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + character.codePointAt(0)) % 9973;
  return sum % HUES;
}

/** Build the element of a message. `room` answers questions about others and takes what the buttons do. */
export function drawMessage(message, room) {
  if (message.deleted) {
    const gone = make("li", "message deleted", say("message.deleted"));
    gone.dataset.id = message.id;
    return gone;
  }
  const item = make("li", message.author.bot ? "message from-bot" : "message");
  item.dataset.id = message.id;
  if (message.speech) item.dataset.speech = message.speech;
  item.tabIndex = -1;
  const body = make("div", "body");
  body.append(head(message, room));
  if (message.reply) body.append(replyLine(message.reply, room));
  const words = content(message);
  if (words) body.append(words);
  if (message.files.length) body.append(files(message.files));
  if (message.card) body.append(card(message, room));
  item.append(avatar(message.author), body, actions(message, room));
  if (message.decision) body.append(decision(message.decision));
  return item;
}

function head(message, room) {
  const line = make("p", "head");
  line.append(make("strong", "", message.author.name));
  if (message.author.bot) line.append(make("span", "tag", say("message.bot")));
  else if (room.isMe(message.author.id)) line.append(make("span", "tag", say("message.you")));
  const at = new Date(message.at);
  const time = make("time", "", shortTime(at));
  time.dateTime = at.toISOString();
  time.title = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: "full",
    timeStyle: "medium",
  }).format(at);
  line.append(time);
  if (message.edited) line.append(make("span", "edited", say("message.edited")));
  return line;
}

function shortTime(at) {
  const language = document.documentElement.lang;
  const today = new Date().toDateString() === at.toDateString();
  const format = today ? { timeStyle: "short" } : { dateStyle: "short", timeStyle: "short" };
  return new Intl.DateTimeFormat(language, format).format(at);
}

function replyLine(reply, room) {
  const target = room.find(reply.id);
  const shown = target && !target.deleted;
  const line = make("button", "in-reply");
  line.type = "button";
  if (!shown) {
    line.textContent = say("message.reply_gone");
    line.disabled = true;
    return line;
  }
  line.append(icon("reply"), make("b", "", target.author.name), make("span", "", excerpt(target)));
  line.setAttribute("aria-label", `${say("message.in_reply", { person: target.author.name })}: ${excerpt(target)}`);
  line.addEventListener("click", () => room.jumpTo(reply.id));
  return line;
}

/** The first words of a message. */
export function excerpt(message) {
  const words = message.text.replace(/\s+/g, " ").trim();
  const text = words || message.card?.title || message.files.map((file) => file.name).join(", ");
  return text.length > 120 ? `${text.slice(0, 118)}…` : text;
}

function content(message) {
  if (message.html) {
    const box = make("div", "prose");
    box.append(graft(message.html));
    return box;
  }
  if (!message.text) return null;
  const box = make("div", "prose plain");
  box.append(written(message.text, message.mentions));
  return box;
}

function files(list) {
  const box = make("ul", "files");
  for (const file of list) {
    const item = make("li");
    const link = make("a", "file");
    link.href = file.url;
    link.download = file.name;
    link.setAttribute("aria-label", say("message.download", { file: file.name }));
    if (/^image\/(png|jpeg|gif|webp)$/.test(file.media_type)) {
      const picture = make("img");
      picture.src = file.url;
      picture.alt = file.name;
      picture.loading = "lazy";
      picture.addEventListener("error", () => picture.remove());
      link.append(picture);
      link.classList.add("picture");
    }
    const label = make("span", "label");
    label.append(icon("file"), make("span", "name", file.name), make("span", "size", size(file.size)));
    link.append(label);
    item.append(link);
    box.append(item);
  }
  return box;
}

function card(message, room) {
  const { title, rows, blocks = [], fields = [], form, note, buttons, widths } = message.card;
  const box = make("section", "card");
  if (title) {
    box.append(make("h3", "", title));
    box.setAttribute("aria-label", title);
  }
  if (rows.length) {
    const list = make("dl");
    for (const [name, value] of rows) list.append(make("dt", "", name), make("dd", "", value));
    box.append(list);
  }
  for (const [name, lines] of blocks) {
    const block = make("pre", "block", lines);
    block.setAttribute("aria-label", name);
    box.append(make("p", "block-name", name), block);
  }
  if (fields.length) box.append(table(message.card.columns, fields));
  if (buttons.length) box.append(...keyboard(buttons, widths).map((row) => buttonRow(row, message, room)));
  if (form) box.append(room.formOf(message).element);
  else if (note) box.append(make("p", "hint note-below", note));
  return box;
}

/** What is asked, as a table, where the fields themselves can't be filled in here; without columns that say nothing. */
function table(columns, fields) {
  const frame = make("div", "table");
  frame.tabIndex = 0;
  const made = make("table");
  const filled = [0, 1, 2, 3].filter((place) => place === 0 || fields.some((cells) => cells[place]));
  if (columns) {
    const head = make("tr");
    for (const place of filled) {
      const cell = make("th", "", columns[place]);
      cell.scope = "col";
      head.append(cell);
    }
    const top = make("thead");
    top.append(head);
    made.append(top);
  }
  const rows = make("tbody");
  for (const cells of fields) {
    const row = make("tr");
    for (const place of filled) {
      const cell = make(place ? "td" : "th", "", cells[place]);
      if (!place) cell.scope = "row";
      row.append(cell);
    }
    rows.append(row);
  }
  made.append(rows);
  frame.append(made);
  return frame;
}

/** Buttons in rows of these widths; without them they stand as they fit. */
function keyboard(buttons, widths) {
  if (!widths) return [buttons];
  let start = 0;
  return widths.map((width) => buttons.slice(start, (start += width)));
}

function buttonRow(row, message, room) {
  const line = make("p", row.length > WIDE ? "buttons in-row" : "buttons");
  for (const one of row) {
    const link = one.url && SAFE_LINK.test(one.url);
    const button = make(link ? "a" : "button", `card-button ${one.style}`, one.label);
    if (link) {
      button.href = one.url;
      button.target = "_blank";
      button.rel = "noopener noreferrer nofollow";
    } else {
      button.type = "button";
      button.setAttribute("aria-pressed", String(room.pressed.has(one.token)));
      button.addEventListener("click", () => room.tap(message, one.token));
    }
    line.append(button);
  }
  return line;
}

function actions(message, room) {
  const bar = make("p", "actions");
  const add = (name, act) => {
    const button = iconButton(name, say(`message.${name}`));
    button.addEventListener("click", act);
    bar.append(button);
  };
  add("reply", () => room.composer.replyTo(message));
  if (room.isMine(message)) {
    if (message.text || message.files.length) add("edit", () => room.composer.edit(message));
    add("delete", () => room.remove(message));
  }
  return bar;
}

const ICONS = { respond: "answered", mute: "silent", defer: "waiting" };
const WORDLESS = new Set(["silent", "stopped", "withdrawn"]);
const PLAN = "plan_version:";
const PLAIN = new Set(["answered", "acknowledged", "control"]);

/** What people saw of it: a request that was let through counts as waiting until something came of it. */
function seen(made) {
  if (made.outcome !== "respond" || PLAIN.has(made.result)) return made.outcome;
  if (made.result === null || made.result === "drafted") return "defer";
  return WORDLESS.has(made.result) ? "mute" : "respond";
}

/** The decision: a badge that opens to its whole reason. */
function decision(made) {
  const outcome = seen(made);
  const box = make("details", `decision ${outcome}`);
  const badge = make("summary");
  const sentence = say(`reason.${made.reason}`);
  badge.title = sentence;
  badge.append(icon(ICONS[outcome]), make("b", "", say(`decision.${outcome}`)), make("code", "", made.reason));
  if (made.result && !PLAIN.has(made.result)) badge.append(make("code", "", `· ${made.result}`));
  const version = made.notes.find((note) => note.startsWith(PLAN));
  if (version) badge.append(make("code", "plan", `· plan ${version.slice(PLAN.length)}`));
  const more = make("div", "why");
  more.append(make("p", "", sentence));
  if (made.observe) more.append(make("p", "", say("decision.observed")));
  const facts = make("dl");
  const fact = (name, ...nodes) => {
    const value = make("dd");
    value.append(...nodes);
    facts.append(make("dt", "", say(`decision.${name}`)), value);
  };
  fact("audience", make("code", "", made.audience));
  fact("gates", gates(made.gates));
  fact("rules", ...made.rules.map((rule) => make("code", "", rule)));
  if (made.result) fact("result", knows(`result.${made.result}`) ? say(`result.${made.result}`) : made.result);
  if (made.notes.length) fact("notes", ...made.notes.map((note) => make("code", "", note)));
  more.append(facts);
  box.append(badge, more);
  return box;
}

function gates(list) {
  const row = make("ol", "gates");
  for (const one of list) {
    const item = make("li", one.state, say(`gate.${one.gate}`));
    item.title = say(`decision.gate_${one.state}`);
    item.setAttribute("aria-label", `${say(`gate.${one.gate}`)}: ${say(`decision.gate_${one.state}`)}`);
    row.append(item);
  }
  return row;
}
