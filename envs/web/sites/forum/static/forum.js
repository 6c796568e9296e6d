// A button that quotes a post in the reply.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-quote]");
  const area = document.getElementById("body");
  if (!button || !area) return;
  const words = document.querySelector(`#${button.dataset.quote} .words`).innerText.trim();
  const quoted = words.split("\n").map((line) => `> ${line}`).join("\n");
  area.value += `${area.value ? "\n" : ""}${button.dataset.author}:\n${quoted}\n\n`;
  area.focus();
});
