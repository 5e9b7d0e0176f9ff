// A question inside a card: its fields, a line for an answer in one's own words, and what became of the answer. It is
// drawn once for a question and kept, so that what somebody has typed outlives every redrawing of the message.

import { addressed, icon, knows, make, say } from "./text.js";
import { Refused } from "./wire.js";

const HALF_TYPED = { date: "invalid_date", time: "invalid_time", "datetime-local": "invalid_datetime" };
const NATIVE = {
  password: "password",
  email: "email",
  address: "url",
  date: "date",
  time: "time",
  moment: "datetime-local",
};
let count = 0;

export class FormView {
  constructor(message, room) {
    this.message = message;
    this.room = room;
    this.away = false;
    this.spec = FormView.spec(message);
    this.id = `form-${(count += 1)}`;
    this.fields = message.card.form.fields.map((one) => new FieldView(one, `${this.id}-${one.id}`));
    this.element = this.#draw(message.card);
  }

  /** What makes it this form and no other. */
  static spec(message) {
    return JSON.stringify([message.card.form, message.card.note, message.card.buttons.length > 0]);
  }

  /** The card shows something else for now, such as the answer that is to be confirmed. */
  putAway() {
    this.away = true;
  }

  comeBack(message) {
    this.message = message;
    if (this.away) this.#ask();
    this.away = false;
  }

  #draw(card) {
    const box = make("div", "answering");
    this.status = make("p", "outcome");
    this.status.setAttribute("role", "status");
    this.problem = make("p", "problem");
    this.problem.setAttribute("role", "alert");
    this.review = make("section", "review");
    this.review.hidden = true;
    this.review.tabIndex = -1;
    this.ways = [this.#drawFields(card), make("div")];
    if (card.note) this.ways[1].append(make("p", "hint note-below", card.note));
    if (card.form.free) this.ways[1].append(this.#drawLine());
    box.append(this.ways[0], this.review, this.problem, this.status, this.ways[1]);
    return box;
  }

  #drawFields(card) {
    const form = make("form", "fields");
    form.noValidate = true; // the server judges, in the person's language
    form.setAttribute("aria-label", say("answer.fields"));
    if (card.form.fixed.length) form.append(facts(card.form.fixed));
    form.append(...this.fields.map((field) => field.element));
    if (card.form.zone) form.append(make("p", "hint", say("answer.zone", { zone: card.form.zone })));
    const send = make("button", "card-button primary", say("answer.send"));
    send.type = "submit";
    const line = make("p", "buttons");
    line.append(send);
    form.append(line);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#submit();
    });
    this.form = form;
    if (!card.buttons.length) return form;
    const box = make("details", "all-fields");
    box.append(make("summary", "", say("answer.open_fields")), form);
    box.hidden = !this.fields.length; // the buttons say it all
    return box;
  }

  #drawLine() {
    const form = make("form", "own-words");
    const label = make("label", "", say("answer.own_words"));
    label.htmlFor = `${this.id}-own`;
    this.line = make("textarea");
    this.line.id = label.htmlFor;
    this.line.rows = 1;
    this.line.maxLength = this.room.state.limits.text;
    this.line.setAttribute("enterkeyhint", "send");
    this.line.addEventListener("input", () => grow(this.line));
    this.line.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.#reply();
    });
    const send = make("button", "icon-button primary");
    send.type = "submit";
    send.title = say("answer.send_words");
    send.setAttribute("aria-label", say("answer.send_words"));
    send.append(icon("send"));
    const row = make("div", "line");
    row.append(this.line, send);
    form.append(label, row);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#reply();
    });
    return form;
  }

  /** A free answer is a message of one's own, in reply to the card. */
  async #reply() {
    const text = this.line.value;
    if (!text.trim()) return;
    await this.#busily(async () => {
      const mentions = addressed(text, new Set(this.room.composer.names.keys()));
      const body = { text, mentions, reply: this.message.id, files: [] };
      await this.room.post("", body, this.room.composer.person);
      this.line.value = "";
      grow(this.line);
    });
  }

  async #submit() {
    const halfTyped = this.fields.map((field) => field.halfTyped()).filter(Boolean);
    if (halfTyped.length) {
      this.#mend(halfTyped);
      return;
    }
    const fields = Object.assign({}, ...this.fields.map((field) => field.read()));
    await this.#busily(async () => this.#settle(await this.room.answer(this.message, { fields })));
  }

  async #busily(act) {
    if (this.busy) return;
    this.busy = true;
    this.#say("");
    this.element.setAttribute("aria-busy", "true");
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.#say(error.code, { limit: this.room.state.limits.text });
    } finally {
      this.busy = false;
      this.element.removeAttribute("aria-busy");
    }
  }

  #settle(answer) {
    const emptied = this.fields.filter((field) => field.empty());
    if (answer.outcome === "refused") {
      this.#mend(answer.errors, emptied);
      for (const doubt of answer.doubts) this.fields.find((field) => field.one.id === doubt.field)?.offer(doubt);
    } else if (answer.outcome === "confirm") {
      this.#review(answer);
    } else if (answer.outcome === "not_yours") {
      this.#say(answer.person ? "answer.not_yours" : "answer.not_yours_at_all", { person: answer.person });
    } else if (answer.outcome === "changed") {
      this.#ask();
      this.#say("answer.changed");
    } else {
      this.#end(`answer.${answer.outcome}`);
    }
  }

  /** Each field says what is wrong with it; what was typed stands there still, but for what is masked. */
  #mend(errors, emptied = []) {
    const unnamed = [];
    for (const field of this.fields) {
      field.say(errors.filter((error) => error.field === field.one.id), emptied.includes(field));
    }
    const known = new Set(this.fields.map((field) => field.one.id));
    for (const error of errors) if (!known.has(error.field)) unnamed.push(sentence(error));
    this.problem.textContent = [say("answer.refused"), ...unnamed].join(" ");
    const details = this.form.closest("details");
    if (details) details.open = true;
    this.fields.find((field) => field.wrong)?.focus();
  }

  /** The second, separate confirmation of an important question. */
  #review(answer) {
    const title = make("h4", "", say("answer.review"));
    title.id = `${this.id}-review`;
    const rows = facts(answer.rows.map(([name, value]) => [name, value ?? say("answer.masked")]));
    const confirm = make("button", "card-button primary", say("answer.confirm"));
    confirm.type = "button";
    confirm.addEventListener("click", () =>
      this.#busily(async () => {
        this.#settle(await this.room.answer(this.message, { confirmed: true, version: answer.version }));
      }),
    );
    const change = make("button", "card-button neutral", say("answer.change"));
    change.type = "button";
    change.addEventListener("click", () => {
      this.#ask();
      (this.fields.find((field) => field.wrong) ?? this.fields[0])?.focus();
    });
    const line = make("p", "buttons");
    line.append(confirm, change);
    this.review.setAttribute("aria-labelledby", title.id);
    this.review.replaceChildren(title, rows, line);
    this.review.hidden = false;
    this.#showWays(false);
    this.review.focus();
  }

  /** Back to the fields. */
  #ask() {
    this.review.hidden = true;
    this.review.replaceChildren();
    this.#showWays(true);
    this.#say("");
    for (const field of this.fields) field.say([], field.one.masked);
  }

  #showWays(shown) {
    this.element.classList.toggle("in-review", !shown);
  }

  #end(key) {
    for (const part of [...this.ways, this.review]) part.remove();
    this.element.classList.add("over");
    this.status.textContent = say(key);
  }

  #say(key, values = {}) {
    this.problem.textContent = key ? say(key, values) : "";
  }
}

class FieldView {
  constructor(one, id) {
    this.one = one;
    this.id = id;
    this.inputs = [];
    this.readings = new Map(); // by name of the control: what its text can mean
    this.element = this.#draw();
  }

  /** What is there, by the names of the controls. */
  read() {
    const values = {};
    const offered = [...this.readings.values()].flatMap((box) => [...box.querySelectorAll("input")]);
    for (const input of [...this.inputs, ...offered]) {
      if (["radio", "checkbox"].includes(input.type) && !input.checked) continue;
      (values[input.name] ??= []).push(input.value);
    }
    return values;
  }

  /** A date or a time of which a part is missing reads as nothing; it is not sent as if it were. */
  halfTyped() {
    const input = this.inputs.find((one) => one.validity.badInput);
    return input ? { field: this.one.id, code: HALF_TYPED[input.type] ?? "wrong_type", limit: null } : null;
  }

  /** A masked value is gone from the page as soon as it was sent. Whether there was one. */
  empty() {
    if (!this.one.masked) return false;
    const had = this.inputs.some((input) => (input.type === "password" ? input.value : input.checked));
    for (const input of this.inputs) {
      if (input.type === "radio" || input.type === "checkbox") input.checked = false;
      else input.value = "";
    }
    return had;
  }

  say(errors, again = false) {
    this.wrong = errors.length > 0;
    const words = errors.map((error) => sentence(error, this.one));
    if (again) words.push(say("answer.again"));
    this.words.textContent = words.join(" ");
    this.element.classList.toggle("is-wrong", this.wrong);
    for (const input of this.inputs) {
      if (this.wrong) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
    for (const box of this.readings.values()) box.remove();
    this.readings.clear();
  }

  /** What was typed can mean two things: which? Typing something else takes the question back. */
  offer({ name, readings }) {
    const input = this.inputs.find((one) => `${one.name}-as` === name);
    if (!input) return;
    const box = make("fieldset", "options readings");
    box.append(make("legend", "unseen", say("answer.which")));
    for (const [value, words] of readings) box.append(option("radio", name, value, words));
    this.readings.set(name, box);
    this.words.after(box);
    input.addEventListener(
      "input",
      () => {
        if (this.readings.get(name) !== box) return;
        box.remove();
        this.readings.delete(name);
      },
      { once: true },
    );
  }

  focus() {
    (this.inputs.find((input) => input.checked) ?? this.inputs[0])?.focus();
  }

  #draw() {
    const one = this.one;
    const choosing = one.control === "radios" || one.control === "boxes";
    const together = choosing || one.names.length > 1;
    const box = make(together ? "fieldset" : "div", "field");
    const title = make(together ? "legend" : "label", "", one.title);
    if (!together) title.htmlFor = `${this.id}-0`;
    if (!one.required) title.append(" ", make("span", "optional", say("answer.optional")));
    box.append(title);
    const described = [];
    const hints = [one.description, hintOf(one)].filter(Boolean);
    for (const [place, words] of hints.entries()) {
      const hint = make("p", "hint", words);
      hint.id = `${this.id}-hint-${place}`;
      described.push(hint.id);
      box.append(hint);
    }
    this.words = make("p", "wrong");
    this.words.id = `${this.id}-wrong`;
    box.append(choosing ? this.#options() : this.#typed(), this.words);
    for (const holder of together ? [box] : this.inputs) {
      holder.setAttribute("aria-describedby", [...described, this.words.id].join(" "));
    }
    if (one.control === "radios") {
      box.setAttribute("role", "radiogroup");
      box.setAttribute("aria-required", String(one.required));
    }
    return box;
  }

  #options() {
    const one = this.one;
    const list = make("div", "options");
    const type = one.control === "boxes" ? "checkbox" : "radio";
    const options = one.options.map(([value, title]) => [value, title || nameOf(one, value)]);
    if (type === "radio" && !one.required) options.push(["", say("answer.none")]);
    for (const [value, title] of options) {
      const label = option(type, one.names[0], value, title);
      const input = label.querySelector("input");
      input.checked = one.chosen.includes(value) || (value === "" && !one.chosen.length);
      this.inputs.push(input);
      list.append(label);
    }
    return list;
  }

  #typed() {
    if (this.one.names.length === 1) return this.#input(0);
    const line = make("div", "range");
    for (const place of this.one.names.keys()) {
      const label = make("label", "", say(place ? "answer.to" : "answer.from"));
      label.append(this.#input(place));
      line.append(label);
    }
    return line;
  }

  #input(place) {
    const one = this.one;
    const input = one.control === "list" ? this.#list() : make(one.control === "area" ? "textarea" : "input");
    input.id = `${this.id}-${place}`;
    input.name = one.names[place];
    input.required = one.required;
    if (one.control !== "list") input.value = one.values[place];
    if (one.control === "area") {
      input.rows = 1;
      input.addEventListener("input", () => grow(input));
      new ResizeObserver(() => grow(input)).observe(input);
    } else if (one.control !== "list") {
      input.type = NATIVE[one.control] ?? "text";
      if (one.control === "number" && !one.signed) input.inputMode = one.kind === "integer" ? "numeric" : "decimal";
      if (one.control !== "email" && one.control !== "address") input.autocomplete = "off";
    }
    this.inputs.push(input);
    return input;
  }

  #list() {
    const one = this.one;
    const list = make("select");
    list.append(new Option(say(one.required ? "answer.choose" : "answer.none"), ""));
    for (const [value, title] of one.options) list.append(new Option(title || nameOf(one, value), value));
    list.value = one.chosen[0] ?? "";
    return list;
  }
}

function option(type, name, value, words) {
  const label = make("label");
  const input = make("input");
  input.type = type;
  input.name = name;
  input.value = value;
  label.append(input, make("span", "", words));
  return label;
}

/** Names and values in two columns. */
function facts(rows) {
  const list = make("dl");
  for (const [name, value] of rows) list.append(make("dt", "", name), make("dd", "", value));
  return list;
}

/** An area is as high as its words, up to eight lines. */
function grow(area) {
  area.rows = Math.min(8, Math.max(1, area.value.split("\n").length));
  while (area.rows < 8 && area.scrollHeight > area.clientHeight + 2) area.rows += 1;
}

/** Yes and no, and null without a title, are said in the reader's language. */
function nameOf(one, value) {
  if (one.kind !== "boolean") return say("answer.null");
  return say(value === one.options[0][0] ? "answer.yes" : "answer.no");
}

/** The limits of a field in words. */
function hintOf(one) {
  const parts = one.limits.map(([code, limit]) => say(`answer.${code}`, { limit: number(limit) }));
  if (one.example) parts.push(say("answer.example", { value: one.example }));
  return parts.join(" · ");
}

function sentence(error, one = null) {
  const example = one?.example ? ` ${say("answer.example", { value: one.example })}` : "";
  if (error.code === "pattern_mismatch" && (example || one?.description)) return say("answer.error.not_like_that") + example;
  const keys = [error.code, error.code.split("_")[0], "wrong_type"].map((code) => `answer.error.${code}`);
  return say(keys.find(knows), { limit: number(error.limit) });
}

/** A limit as people write it. */
function number(limit) {
  if (limit === null || limit === "" || !Number.isFinite(Number(limit))) return limit ?? "";
  const format = { maximumFractionDigits: 12 };
  return new Intl.NumberFormat(document.documentElement.lang, format).format(Number(limit));
}
