// The button behind a one-time link. Only pressing it uses the link up.
const button = document.getElementById("enter");
const failed = document.getElementById("failed");

button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    const answer = await fetch(location.pathname, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: "{}",
    });
    if (answer.ok) {
      location.replace("/");
      return;
    }
  } catch {
    button.disabled = false;
  }
  failed.hidden = false;
});
button.focus();
