// Between the page and the person's authenticator: fetches what is to be signed, has it signed, sends it back.
// What the server answers is shown as text; it decides, and knows nothing but what was signed.

const form = document.getElementById("passkey");
if (form) {
  const here = location.pathname;
  const button = form.querySelector("button");
  const text = form.elements.namedItem("text");
  const enrols = form.dataset.ceremony === "create";
  let next = null; // what is to be made, once a passkey that is there already has signed

  if (window.PublicKeyCredential && navigator.credentials) {
    form.hidden = false;
    document.getElementById("told").hidden = true;
  } else tell(form.dataset.unsupported);

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    tell(form.dataset.waiting);
    try {
      await go();
    } catch (error) {
      if (error.name === "InvalidStateError") tell(form.dataset.there);
      else tell(error instanceof DOMException ? form.dataset.cancelled : form.dataset.unsent);
    }
    button.disabled = false;
  });

  async function go() {
    const said = text ? text.value : "";
    const asked = next ?? (await post(`${here}/options`, enrols ? {} : { words: said }));
    if (!asked.options) return show(asked);
    const made = await sign(structuredClone(asked.options));
    if (enrols && !asked.options.user) return prove(made);
    next = null;
    show(await post(here, { credential: written(made), ...(enrols && { label: said }) }));
  }

  // Browsers want a press of the button for each of the two.
  async function prove(made) {
    const asked = await post(`${here}/options`, { credential: written(made) });
    if (!asked.options) return show(asked);
    next = asked;
    tell(form.dataset.next);
  }

  function sign(options) {
    options.challenge = bytes(options.challenge);
    if (options.user) options.user.id = bytes(options.user.id);
    for (const list of ["excludeCredentials", "allowCredentials"]) {
      for (const one of options[list] ?? []) one.id = bytes(one.id);
    }
    return navigator.credentials[options.user ? "create" : "get"]({ publicKey: options });
  }

  async function post(address, body) {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
      credentials: "omit",
      redirect: "error",
    });
    return answer.json();
  }

  // The end is a page of its own kind: a headline and a sentence; else what is wrong stands below the button.
  function show(answer) {
    if (!answer.sentence) throw new Error("no answer");
    if (!answer.ends) return tell(answer.sentence);
    const headline = document.querySelector("h1");
    headline.textContent = document.title = answer.title;
    const sentence = document.createElement("p");
    sentence.className = "lead";
    sentence.textContent = answer.sentence;
    document.getElementById("whole").replaceChildren(sentence);
    headline.focus();
  }
}

function tell(sentence) {
  const told = document.getElementById("told");
  told.textContent = sentence;
  told.hidden = false;
}

function written(made) {
  const response = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (made.response[name]) response[name] = letters(made.response[name]);
  }
  return { id: made.id, rawId: letters(made.rawId), type: made.type, response };
}

function bytes(letters) {
  return Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
}

function letters(buffer) {
  const signs = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(signs).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
