// One room on the page: its head, its log, its composer.

import { Composer } from "./composer.js";
import { FormView } from "./form.js";
import { avatar, drawMessage } from "./message.js";
import { graft, icon, make, say } from "./text.js";
import { get, nonce, post, Refused } from "./wire.js";

const TYPING_MS = 8000;
const DRAFT_MS = 30000;
const NOTE_MS = 12000;

/** What can have the focus inside a message, in order: a message that is drawn anew keeps it. */
function focusable(element) {
  return [element, ...element.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];
}

export class RoomView {
  constructor(data, state) {
    this.data = data;
    this.state = state;
    this.messages = new Map(); // by id: {message, element}
    this.pressed = new Set();
    this.forms = new Map(); // by id of the message: what somebody is typing into its card
    this.drafts = new Map();
    this.composer = null;
    this.element = this.#draw();
    for (const message of state.messages[data.id]) this.#put(message);
    this.#afterChange(true);
  }

  #draw() {
    const section = make("section", "room");
    section.setAttribute("aria-label", this.data.title);
    section.dataset.room = this.data.id;
    const head = make("header", "room-head");
    const names = make("div");
    names.append(make("h2", "", this.data.title));
    const people = new Intl.ListFormat(document.documentElement.lang, { type: "unit" }).format(
      this.data.members.map((one) => one.name),
    );
    names.append(make("p", "", say("room.people", { people, bot: this.state.bot })));
    head.append(icon(this.data.direct ? "lock" : "people"), names);
    if (this.data.audience) {
      const known = `audience.${this.data.audience}`;
      const tag = make("span", `audience ${this.data.audience}`, this.data.audience);
      tag.title = say(known);
      head.append(tag);
    }
    this.scroll = make("div", "scroll");
    this.earlier = make("button", "earlier", say("room.earlier"));
    this.earlier.type = "button";
    this.earlier.hidden = this.state.messages[this.data.id].length < this.state.limits.page;
    this.earlier.addEventListener("click", () => this.#loadEarlier());
    this.empty = make("p", "empty", say("room.empty"));
    this.log = make("ol", "log");
    this.log.setAttribute("role", "log");
    this.log.setAttribute("aria-live", "polite");
    this.log.setAttribute("aria-label", say("room.log", { room: this.data.title }));
    this.log.tabIndex = 0;
    this.live = make("div", "growing");
    this.scroll.append(this.earlier, this.empty, this.log, this.live);
    this.down = make("button", "down");
    this.down.type = "button";
    this.down.title = say("room.newest");
    this.down.setAttribute("aria-label", say("room.newest"));
    this.down.append(icon("down"));
    this.down.hidden = true;
    this.down.addEventListener("click", () => this.#toBottom());
    this.stuck = true; // to the newest message, until somebody scrolls up
    let top = 0;
    this.scroll.addEventListener("scroll", () => {
      if (!this.scroll.clientHeight) return;
      if (this.#atBottom()) this.stuck = true;
      else if (this.scroll.scrollTop < top) this.stuck = false;
      top = this.scroll.scrollTop;
      this.down.hidden = this.stuck;
    });
    const follow = new ResizeObserver(() => this.#follow());
    for (const box of [this.scroll, this.log, this.live]) follow.observe(box);
    this.notes = make("div", "notes");
    this.notes.setAttribute("role", "status");
    this.composer = new Composer(this, this.state);
    const frame = make("div", "frame");
    frame.append(this.scroll, this.down);
    section.append(head, frame, this.notes, this.composer.element);
    return section;
  }

  isMe(id) {
    return this.state.me !== null && id === this.state.me.id;
  }

  isMine(message) {
    return !message.author.bot && message.author.id === this.composer.person;
  }

  find(id) {
    return this.messages.get(id)?.message;
  }

  lastOf(person) {
    const all = [...this.messages.values()].map((one) => one.message);
    return all.filter((one) => !one.deleted && one.author.id === person).sort((a, b) => b.position - a.position)[0];
  }

  /** The server says that a message is new or other than before. */
  take(message) {
    const known = this.messages.get(message.id)?.message;
    if (known && known.seq >= message.seq) return;
    if (message.author?.bot && !known) this.#settle(message);
    this.#put(message);
    if (message.deleted) this.composer.forget(message.id);
    if (known) this.#redrawRepliesTo(message.id);
    this.#afterChange(!known && message.author?.id === this.composer.person);
    if (!known && message.card?.form) this.#toTopOf(this.messages.get(message.id).element);
  }

  typing() {
    clearTimeout(this.typingTimer);
    if (!this.dots) {
      this.dots = make("p", "typing");
      this.dots.append(avatar({ bot: true }), make("span", "dots"), make("span", "", say("message.writing", this.state)));
      this.dots.children[1].append(make("i"), make("i"), make("i"));
      this.live.append(this.dots);
    }
    this.typingTimer = setTimeout(() => this.#endTyping(), TYPING_MS);
  }

  draft(data) {
    this.#endTyping();
    let draft = this.drafts.get(data.stream);
    if (!draft) {
      const element = make("div", "message from-bot draft");
      element.setAttribute("aria-busy", "true");
      const body = make("div", "body");
      const head = make("p", "head");
      head.append(make("strong", "", this.state.bot), make("span", "tag", say("message.bot")));
      const words = make("div", "prose");
      body.append(head, words);
      element.append(avatar({ bot: true }), body);
      draft = { element, words, reply: data.reply };
      this.drafts.set(data.stream, draft);
      this.live.append(element);
    }
    clearTimeout(draft.timer);
    draft.timer = setTimeout(() => this.#endDraft(data.stream), DRAFT_MS);
    draft.words.replaceChildren(graft(data.html));
  }

  /** A short word to one person. */
  note(data) {
    const names = new Map(this.data.members.map((one) => [one.id, one.name]));
    const line = make("p", "note");
    if (!this.state.me) {
      line.append(make("b", "", say("message.private_note", { person: names.get(data.person) ?? data.person })), " ");
    }
    line.append(data.text);
    this.notes.append(line);
    setTimeout(() => line.remove(), NOTE_MS);
  }

  async post(path, body, person, key = nonce()) {
    const named = this.state.me ? body : { ...body, as: person };
    const answer = await post(`/api/rooms/${this.data.id}/messages${path}`, { ...named, nonce: key });
    if (answer.message) this.take(answer.message);
    return answer;
  }

  /** The fields of a message's card; the same ones, with what was typed, as long as it asks the same. */
  formOf(message) {
    const known = this.forms.get(message.id);
    const form = known?.spec === FormView.spec(message) ? known : new FormView(message, this);
    form.comeBack(message);
    this.forms.set(message.id, form);
    return form;
  }

  /** The card shows no fields: for a while, as long as it has buttons; else it is closed and all is forgotten. */
  #putAway(message) {
    if (message.card?.buttons.length) this.forms.get(message.id)?.putAway();
    else this.forms.delete(message.id);
  }

  /** Send what the fields of a card hold; what became of it. */
  answer(message, body) {
    return this.post(`/${message.id}/answer`, body, this.composer.person);
  }

  async tap(message, token) {
    if (this.tapping) return;
    this.tapping = true;
    try {
      await this.post(`/${message.id}/tap`, { token }, this.composer.person);
      this.pressed.add(token);
      this.#put(this.find(message.id));
    } catch (error) {
      this.#refused(error);
    } finally {
      this.tapping = false;
    }
  }

  async remove(message) {
    if (!confirm(say("message.delete_sure"))) return;
    try {
      await this.post(`/${message.id}/delete`, {}, this.composer.person);
    } catch (error) {
      this.#refused(error);
    }
    this.composer.area.focus();
  }

  jumpTo(id) {
    const element = this.messages.get(id)?.element;
    if (!element) return;
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
    element.classList.remove("found");
    requestAnimationFrame(() => element.classList.add("found"));
  }

  /** Somebody else writes now: what can be changed is other than before. */
  redraw() {
    for (const { message } of [...this.messages.values()]) this.#put(message);
  }

  #refused(error) {
    if (!(error instanceof Refused)) throw error;
    this.composer.say(error.code);
  }

  #put(message) {
    const known = this.messages.get(message.id);
    const focused = known?.element.contains(document.activeElement) ? document.activeElement : null;
    const place = focused ? focusable(known.element).indexOf(focused) : -1;
    const element = drawMessage(message, this);
    if (!message.card?.form) this.#putAway(message);
    if (known) {
      const open = known.element.querySelector("details.decision")?.open;
      const badge = element.querySelector("details.decision");
      if (open && badge) badge.open = true;
      known.element.replaceWith(element);
      if (focused) {
        const same = focused.closest(".answering") ? element : (focusable(element)[place] ?? element);
        (element.contains(focused) ? focused : same).focus({ preventScroll: true });
      }
    } else {
      const later = [...this.messages.values()]
        .filter((one) => one.message.position > message.position)
        .sort((one, other) => one.message.position - other.message.position)[0];
      this.log.insertBefore(element, later?.element ?? null);
    }
    this.messages.set(message.id, { message, element });
  }

  #redrawRepliesTo(id) {
    for (const { message } of [...this.messages.values()]) {
      if (message.reply?.id === id) this.#put(message);
    }
  }

  #settle(message) {
    this.#endTyping();
    for (const [stream, draft] of this.drafts) {
      if (draft.reply === (message.reply?.id ?? null)) this.#endDraft(stream);
    }
  }

  #endTyping() {
    clearTimeout(this.typingTimer);
    this.dots?.remove();
    this.dots = null;
  }

  #endDraft(stream) {
    const draft = this.drafts.get(stream);
    clearTimeout(draft?.timer);
    draft?.element.remove();
    this.drafts.delete(stream);
  }

  async #loadEarlier() {
    const first = Math.min(...[...this.messages.values()].map((one) => one.message.position));
    const height = this.scroll.scrollHeight;
    this.stuck = false;
    this.earlier.disabled = true;
    try {
      const { messages } = await get(`/api/rooms/${this.data.id}/messages?before=${first}`);
      for (const message of messages) this.#put(message);
      for (const message of messages) this.#redrawRepliesTo(message.id);
      this.earlier.hidden = messages.length < this.state.limits.page;
      this.scroll.scrollTop += this.scroll.scrollHeight - height;
    } catch (error) {
      this.#refused(error);
    } finally {
      this.earlier.disabled = false;
    }
  }

  #afterChange(down) {
    this.empty.hidden = this.messages.size > 0;
    if (down) this.#toBottom();
  }

  #follow() {
    if (this.stuck) this.scroll.scrollTop = this.scroll.scrollHeight;
  }

  #atBottom() {
    return this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight < 60;
  }

  /** A question that does not fit is read from its beginning. */
  #toTopOf(element) {
    if (!this.stuck || element.offsetHeight <= this.scroll.clientHeight) return;
    this.stuck = false;
    this.scroll.scrollTop += element.getBoundingClientRect().top - this.scroll.getBoundingClientRect().top;
  }

  #toBottom() {
    this.stuck = true;
    this.down.hidden = true;
    this.#follow();
  }
}
