// Words on the page. People's words become text nodes; the agent's HTML, which the server has made, is grafted node by
// node from a list of harmless elements. Nothing is ever parsed into the live page.

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const QUOTE = /^\s*>/;
const INDENTED = /^( {4}|\t)/;
const SPAN = /(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g;
const TOKEN = /(?<![\p{L}\p{N}_@./:+`-])@([a-z0-9][a-z0-9_-]{0,63})(?![\p{L}\p{N}_@/`-]|[.:][\p{L}\p{N}_])/gu;
const URL_IN_TEXT = /https?:\/\/[^\s<>"'`{}|\\^[\]]+[^\s<>"'`{}|\\^[\].,;:!?()]/g;

const HARMLESS = new Set(
  "p br strong em s code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 hr table thead tbody tr th td a".split(" "),
);
export const SAFE_LINK = /^(https?:\/\/|mailto:)/i;

let words = {};

export function speak(catalogue) {
  words = catalogue;
}

/** The words of a key, with {names} filled in. */
export function say(key, values = {}) {
  const sentence = words[key] ?? key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export function knows(key) {
  return key in words;
}

/** Ids of `known` that a text addresses: @id by itself, outside code and quotes. The server holds the same rules. */
export function addressed(text, known) {
  const found = [...spoken(text).matchAll(TOKEN)].map((match) => match[1]);
  return [...new Set(found)].filter((id) => known.has(id));
}

function spoken(text) {
  let fence = "";
  const kept = text.split("\n").map((line) => {
    const mark = FENCE.exec(line);
    if (fence) {
      if (mark && mark[1].startsWith(fence) && !line.slice(mark[0].length).trim()) fence = "";
      return "";
    }
    if (mark) {
      fence = mark[1];
      return "";
    }
    return QUOTE.test(line) || INDENTED.test(line) ? "" : line;
  });
  return kept.join("\n").replace(SPAN, "`");
}

/** A person's text as nodes: mentions stand out, addresses are links, everything else is text. */
export function written(text, mentions) {
  const nodes = document.createDocumentFragment();
  const marks = [];
  for (const match of text.matchAll(URL_IN_TEXT)) marks.push({ at: match.index, text: match[0], link: true });
  for (const match of text.matchAll(TOKEN)) {
    if (mentions.includes(match[1])) marks.push({ at: match.index, text: match[0], link: false });
  }
  marks.sort((one, other) => one.at - other.at);
  let end = 0;
  for (const mark of marks) {
    if (mark.at < end) continue;
    nodes.append(text.slice(end, mark.at), mark.link ? anchor(mark.text) : make("span", "mention", mark.text));
    end = mark.at + mark.text.length;
  }
  nodes.append(text.slice(end));
  return nodes;
}

/** The agent's HTML, node by node. */
export function graft(html) {
  const source = new DOMParser().parseFromString(html, "text/html");
  const nodes = document.createDocumentFragment();
  copy(source.body, nodes);
  return nodes;
}

function copy(from, to) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) {
      to.append(node.data);
    } else if (node.nodeType === Node.ELEMENT_NODE) {
      const name = node.localName;
      let made = to;
      if (name === "a" && SAFE_LINK.test(node.getAttribute("href") ?? "")) {
        made = anchor(node.getAttribute("href"));
        made.textContent = "";
        if (node.title) made.title = node.title;
        to.append(made);
      } else if (name !== "a" && HARMLESS.has(name)) {
        made = document.createElement(name);
        if (name === "table") {
          const frame = make("div", "table");
          frame.tabIndex = 0;
          frame.append(made);
          to.append(frame);
        } else {
          to.append(made);
        }
        if (name === "ol" && node.start > 1) made.start = node.start;
      }
      copy(node, made);
    }
  }
}

function anchor(url) {
  const made = make("a", "", url);
  made.href = url;
  made.target = "_blank";
  made.rel = "noopener noreferrer nofollow";
  return made;
}

/** An element with a class and a text. */
export function make(name, className = "", text = null) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== null) made.textContent = text;
  return made;
}

/** An icon of the sprite in the page. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** A button that shows an icon and is read as words. */
export function iconButton(name, label, className = "quiet") {
  const button = make("button", `icon-button ${className}`);
  button.type = "button";
  button.title = label;
  button.setAttribute("aria-label", label);
  button.append(icon(name));
  return button;
}

/** Bytes for people. */
export function size(bytes) {
  const language = document.documentElement.lang;
  const [value, unit] =
    bytes < 1000 ? [bytes, "byte"] : bytes < 1e6 ? [bytes / 1e3, "kilobyte"] : [bytes / 1e6, "megabyte"];
  const format = { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(language, format).format(value);
}
