// The page's side of the wire: JSON posts, one stream of events.

const RETRY_MS = 3000;

export class Refused extends Error {
  constructor(code) {
    super(code);
    this.code = code;
  }
}

export function nonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function answerOf(request) {
  let answer;
  try {
    answer = await request;
  } catch {
    throw new Refused("error.network");
  }
  let body = {};
  try {
    body = await answer.json();
  } catch {
    if (answer.ok) throw new Refused("error.network");
  }
  if (!answer.ok) throw new Refused(body.error ?? "error.unavailable");
  return body;
}

export function get(path) {
  return answerOf(fetch(path, { headers: { Accept: "application/json" } }));
}

/** Post; a post whose answer was lost is repeated once, with the same nonce, and is the same post. */
export async function post(path, body) {
  const once = () =>
    answerOf(
      fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
  try {
    return await once();
  } catch (error) {
    if (error.code !== "error.network") throw error;
    return once();
  }
}

/** Hear events from `after` on. The browser comes back by itself with the id of the last event that it has seen; where
 * it has given up (the server refused), the page asks who it is and begins again, or learns that its visit is over. */
export function listen(after, hears, stateIs) {
  let seen = after;
  const source = new EventSource(`/api/stream?after=${after}`);
  for (const [name, hear] of Object.entries(hears)) {
    source.addEventListener(name, (event) => {
      if (event.lastEventId) seen = Number(event.lastEventId);
      hear(JSON.parse(event.data));
    });
  }
  source.addEventListener("open", () => stateIs("live"));
  source.addEventListener("error", () => {
    stateIs("lost");
    if (source.readyState === EventSource.CLOSED) setTimeout(again, RETRY_MS);
  });
  async function again() {
    try {
      await get("/api/state");
    } catch (error) {
      if (error.code === "error.session") {
        stateIs("ended");
        return;
      }
    }
    listen(seen, hears, stateIs);
  }
}

/** A file as base64. */
export function encoded(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1] ?? ""));
    reader.addEventListener("error", () => reject(new Refused("error.malformed")));
    reader.readAsDataURL(file);
  });
}
