// Telegram's web view: who fills the form in, its light or dark, and the way back to the chat.
// What Telegram says stands behind the # of the address and is signed; the page is complete without it.

const launch = new URLSearchParams(location.hash.slice(1));
const data = launch.get("tgWebAppData");

if (data) {
  for (const form of document.forms) {
    const proof = document.createElement("input");
    proof.type = "hidden";
    proof.name = "init_data";
    proof.value = data;
    form.append(proof);
    form.action = location.href; // with what stands behind the #: the next page needs it too
  }
  for (const link of document.querySelectorAll('a[href^="?"]')) link.href += location.hash;
  // A link to a field must not replace what stands behind the #.
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const field = document.getElementById(link.hash.slice(1));
      field.focus();
      field.scrollIntoView({ block: "center" });
    });
  }
}

const ground = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colours().bg_color ?? "");
if (ground) {
  const [red, green, blue] = ground.slice(1).map((part) => parseInt(part, 16));
  document.documentElement.dataset.theme = red * 0.3 + green * 0.59 + blue * 0.11 < 128 ? "dark" : "light";
}

tell("web_app_ready");
tell("web_app_expand");
const close = document.getElementById("close");
if (close && data) {
  close.hidden = false;
  close.addEventListener("click", () => tell("web_app_close"));
}

function colours() {
  try {
    return JSON.parse(launch.get("tgWebAppThemeParams")) ?? {};
  } catch {
    return {};
  }
}

function tell(eventType, eventData = {}) {
  const bridge = window.TelegramWebviewProxy;
  if (bridge) bridge.postEvent(eventType, JSON.stringify(eventData));
  else if (window.external && "notify" in window.external) window.external.notify(JSON.stringify({ eventType, eventData }));
  else if (window.parent !== window) window.parent.postMessage(JSON.stringify({ eventType, eventData }), "https://web.telegram.org");
}
