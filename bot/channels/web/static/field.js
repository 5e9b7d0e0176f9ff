// One field of a question: its native inputs, its words, what is wrong with it.

import { knows, make, say } from "./text.js";

const HALF_TYPED = { date: "invalid_date", time: "invalid_time", "datetime-local": "invalid_datetime" };
const NATIVE = {
  password: "password",
  email: "email",
  address: "url",
  date: "date",
  time: "time",
  moment: "datetime-local",
};

export class FieldView {
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
export function facts(rows) {
  const list = make("dl");
  for (const [name, value] of rows) list.append(make("dt", "", name), make("dd", "", value));
  return list;
}

/** An area is as high as its words, up to eight lines. */
export function grow(area) {
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

export function sentence(error, one = null) {
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
