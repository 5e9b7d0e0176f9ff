// A question inside a card: its fields, a line for an answer in one's own words, and what became of the answer. It is
// drawn once for a question and kept, so that what somebody has typed outlives every redrawing of the message.

import { facts, FieldView, grow, sentence } from "./field.js";
import { addressed, icon, make, say } from "./text.js";
import { Refused } from "./wire.js";

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
    box.open = card.form.fields.some((field) => field.numbered); // here the buttons have hardly more than numbers
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
