// Where a message is written: text, mentions, files, a reply or an edit, and in the demo as whom.

import { excerpt } from "./message.js";
import { addressed, icon, iconButton, make, say, size } from "./text.js";
import { encoded, nonce, Refused } from "./wire.js";

const MENTION_AT_CARET = /(?:^|[\s(])@([a-z0-9_-]*)$/i;
let count = 0;

export class Composer {
  constructor(room, state) {
    this.room = room;
    this.state = state;
    this.files = [];
    this.target = null; // {kind: "reply" | "edit", message}
    this.sending = null; // a post under way, for its nonce
    this.names = new Map([[state.bot, state.bot], ...room.data.members.map((one) => [one.id, one.name])]);
    this.element = this.#draw();
  }

  get person() {
    return this.state.me ? this.state.me.id : this.as.value;
  }

  replyTo(message) {
    this.#aim({ kind: "reply", message });
    this.area.focus();
  }

  edit(message) {
    this.#aim({ kind: "edit", message });
    this.#write(message.text);
    this.area.focus();
  }

  /** Put words in, as somebody, perhaps as a reply. */
  fill(text, person, message) {
    this.#clear();
    if (this.as && person) this.as.value = person;
    this.#changedPerson();
    if (message) this.#aim({ kind: "reply", message });
    this.#write(text);
    this.area.focus();
  }

  forget(id) {
    if (this.target?.message.id === id) this.#clear();
  }

  #draw() {
    const form = make("form", "composer");
    const id = `composer-${(count += 1)}`;
    this.bar = make("div", "target");
    this.bar.hidden = true;
    this.chips = make("ul", "chips");
    this.problem = make("p", "problem");
    this.problem.setAttribute("role", "alert");

    const label = make("label", "unseen", say("compose.label", { room: this.room.data.title }));
    label.htmlFor = id;
    this.area = make("textarea");
    this.area.id = id;
    this.area.rows = 1;
    this.area.maxLength = this.state.limits.text;
    this.area.placeholder = say("compose.placeholder");
    this.area.setAttribute("role", "combobox");
    this.area.setAttribute("aria-autocomplete", "list");
    this.area.setAttribute("aria-expanded", "false");
    this.area.setAttribute("aria-controls", `${id}-people`);
    this.area.setAttribute("enterkeyhint", "send");

    this.people = make("ul", "people");
    this.people.id = `${id}-people`;
    this.people.setAttribute("role", "listbox");
    this.people.setAttribute("aria-label", say("compose.mention"));
    this.people.hidden = true;

    this.picker = make("input", "unseen");
    this.picker.type = "file";
    this.picker.multiple = true;
    this.picker.tabIndex = -1;
    this.picker.setAttribute("aria-label", say("compose.attach"));
    const attach = iconButton("attach", say("compose.attach"));
    attach.addEventListener("click", () => this.picker.click());
    this.picker.addEventListener("change", () => {
      this.#add(this.picker.files);
      this.picker.value = "";
    });

    this.button = make("button", "icon-button primary");
    this.button.type = "submit";

    const line = make("div", "line");
    line.append(attach, this.picker, label, this.area, this.button);
    const foot = make("div", "foot");
    if (!this.state.me) {
      const who = make("label", "as");
      this.as = make("select");
      for (const one of this.room.data.members) this.as.append(new Option(one.name, one.id));
      this.as.addEventListener("change", () => this.#changedPerson());
      who.append(make("span", "", say("compose.as")), this.as);
      foot.append(who);
    }
    this.to = make("p", "to");
    foot.append(this.to);
    form.append(this.people, this.bar, this.chips, line, foot, this.problem);

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.area.addEventListener("input", () => this.#changed());
    this.area.addEventListener("click", () => this.#suggest());
    this.area.addEventListener("blur", () => setTimeout(() => this.#close(), 150));
    this.area.addEventListener("keydown", (event) => this.#key(event));
    this.area.addEventListener("paste", (event) => {
      if (event.clipboardData.files.length) {
        event.preventDefault();
        this.#add(event.clipboardData.files);
      }
    });
    form.addEventListener("dragover", (event) => event.preventDefault());
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      this.#add(event.dataTransfer.files);
    });
    this.element = form;
    this.#aim(null);
    this.#changed();
    return form;
  }

  async send() {
    const text = this.area.value;
    const editing = this.target?.kind === "edit";
    if (this.busy || (!text.trim() && !this.files.length && !editing)) return;
    const body = { text, mentions: addressed(text, new Set(this.names.keys())) };
    const files = this.files;
    const message = this.target?.message.id;
    const same = JSON.stringify([body, this.person, message, files.map((file) => file.name)]);
    if (this.sending?.same !== same) this.sending = { same, nonce: nonce() };
    this.#busy(true);
    try {
      if (editing) {
        await this.room.post(`/${message}/edit`, body, this.person, this.sending.nonce);
      } else {
        body.reply = message ?? null;
        body.files = await Promise.all(
          files.map(async (file) => ({ name: file.name, media_type: file.type, content: await encoded(file) })),
        );
        await this.room.post("", body, this.person, this.sending.nonce);
      }
      this.sending = null;
      this.#clear();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(error.code);
    } finally {
      this.#busy(false);
      this.area.focus();
    }
  }

  say(code) {
    this.problem.textContent = code ? say(code, { limit: this.state.limits.text }) : "";
  }

  #busy(busy) {
    this.busy = busy;
    this.element.setAttribute("aria-busy", String(busy));
    this.button.disabled = busy;
  }

  #aim(target) {
    this.target = target;
    const editing = target?.kind === "edit";
    const does = say(editing ? "compose.save" : "compose.send");
    this.button.title = does;
    this.button.setAttribute("aria-label", does);
    this.button.replaceChildren(icon(editing ? "save" : "send"));
    this.bar.hidden = target === null;
    this.bar.replaceChildren();
    if (target === null) return;
    const says = editing ? say("compose.editing") : say("compose.replying", { person: target.message.author.name });
    const words = make("p");
    words.append(make("b", "", says), make("span", "", excerpt(target.message)));
    const cancel = iconButton("close", say("compose.cancel"));
    cancel.addEventListener("click", () => this.#cancel());
    this.bar.append(icon(editing ? "edit" : "reply"), words, cancel);
  }

  #cancel() {
    if (this.target?.kind === "edit") this.#write("");
    this.#aim(null);
    this.area.focus();
  }

  #clear() {
    this.files = [];
    this.#drawChips();
    this.#aim(null);
    this.#write("");
    this.say("");
  }

  #write(text) {
    this.area.value = text;
    this.area.setSelectionRange(text.length, text.length);
    this.#changed();
  }

  #changed() {
    this.area.rows = Math.min(8, Math.max(1, this.area.value.split("\n").length));
    while (this.area.rows < 8 && this.area.scrollHeight > this.area.clientHeight + 2) this.area.rows += 1;
    const ids = addressed(this.area.value, new Set(this.names.keys()));
    const people = ids.map((id) => this.names.get(id)).join(", ");
    this.to.textContent = ids.length ? say("compose.to", { people }) : "";
    this.say("");
    this.#suggest();
  }

  #changedPerson() {
    this.room.redraw();
    if (this.target?.kind === "edit") this.#cancel();
  }

  #add(list) {
    const total = [...this.files, ...list].reduce((sum, file) => sum + file.size, 0);
    if (total > this.state.limits.upload) {
      this.say("error.too_large");
      return;
    }
    this.files = [...this.files, ...list].slice(0, 10);
    this.#drawChips();
    this.area.focus();
  }

  #drawChips() {
    const items = this.files.map((file) => {
      const item = make("li", "chip");
      const drop = iconButton("close", say("compose.detach", { file: file.name }));
      drop.addEventListener("click", () => {
        this.files = this.files.filter((one) => one !== file);
        this.#drawChips();
        this.area.focus();
      });
      item.append(icon("file"), make("span", "name", file.name), make("span", "size", size(file.size)), drop);
      return item;
    });
    this.chips.replaceChildren(...items);
  }

  // The list of people who can be mentioned.

  #suggest() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    const found = MENTION_AT_CARET.exec(before);
    if (!found || document.activeElement !== this.area) {
      this.#close();
      return;
    }
    const sought = found[1].toLowerCase();
    const fits = [...this.names]
      .filter(([id]) => id !== this.person)
      .filter(([id, name]) => id.startsWith(sought) || name.toLowerCase().startsWith(sought));
    if (!fits.length || (fits.length === 1 && fits[0][0] === sought)) {
      this.#close();
      return;
    }
    this.people.replaceChildren(
      ...fits.map(([id, name], index) => {
        const item = make("li", "", name);
        item.id = `${this.people.id}-${index}`;
        item.dataset.id = id;
        item.setAttribute("role", "option");
        item.append(make("code", "", `@${id}`));
        item.addEventListener("pointerdown", (event) => {
          event.preventDefault();
          this.#choose(id);
        });
        return item;
      }),
    );
    this.people.hidden = false;
    this.area.setAttribute("aria-expanded", "true");
    this.#mark(0);
  }

  #mark(index) {
    const items = [...this.people.children];
    this.marked = (index + items.length) % items.length;
    items.forEach((item, at) => item.setAttribute("aria-selected", String(at === this.marked)));
    this.area.setAttribute("aria-activedescendant", items[this.marked].id);
    items[this.marked].scrollIntoView({ block: "nearest" });
  }

  #choose(id) {
    const caret = this.area.selectionStart;
    const before = this.area.value.slice(0, caret).replace(/@[a-z0-9_-]*$/i, `@${id} `);
    const after = this.area.value.slice(caret).replace(/^ /, "");
    this.area.value = before + after;
    this.area.setSelectionRange(before.length, before.length);
    this.#changed();
    this.#close();
  }

  #close() {
    this.people.hidden = true;
    this.area.setAttribute("aria-expanded", "false");
    this.area.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    if (event.isComposing) return;
    const open = !this.people.hidden;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      this.#mark(this.marked + (event.key === "ArrowDown" ? 1 : -1));
    } else if (open && (event.key === "Enter" || event.key === "Tab")) {
      this.#choose(this.people.children[this.marked].dataset.id);
    } else if (event.key === "Escape" && open) {
      this.#close();
    } else if (event.key === "Escape" && this.target) {
      this.#cancel();
    } else if (event.key === "Enter" && !event.shiftKey) {
      this.send();
    } else if (event.key === "ArrowUp" && !this.area.value && !this.target) {
      const last = this.room.lastOf(this.person);
      if (!last) return;
      this.edit(last);
    } else {
      return;
    }
    event.preventDefault();
  }
}
