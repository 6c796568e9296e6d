// The page of `agentgym watch`. All texts are set as text, never as HTML, and by `show` alone.
"use strict";
const at = (id) => document.getElementById(id);
// A browser reorders a text at bidirectional marks and hides other controls, so they are spelled out, as in a report.
const UNPRINTABLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;
const spelled = (sign) => {
  const code = sign.charCodeAt(0).toString(16);
  return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
};
const printable = (text) => String(text).replaceAll("\r\n", "\n").replace(UNPRINTABLE, spelled);
const show = (element, text) => { element.textContent = printable(text); };
const token = location.hash.slice(1);
let known = 0, person = false, over = false, busy = Promise.resolve();

async function ask(path, body) {
  const given = { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" };
  if (body !== undefined) { given.method = "POST"; given.body = JSON.stringify(body); }
  const answer = await fetch(path, given);
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
}

const shows = {
  task(told) {
    over = false;
    show(at("task"), `${told.task}, seed ${told.seed}, ${told.agent}`);
    show(at("instruction"), told.instruction);
    at("steps").replaceChildren();
  },
  tools(told) {
    at("tool").replaceChildren(...told.tools.map((tool) => new Option(printable(tool.name), tool.name)));
  },
  control(told) {
    person = told.person;
    show(at("control"), person ? "Hand back" : "Take over");
    at("screen").classList.toggle("held", person);
    at("send").disabled = !person;
    at("control").disabled = over || !told.agent;
    state();
  },
  async view(told) {
    show(at("text"), told.text);
    if (told.frame === null) return;
    // Only the last pictures are kept.
    const answer = await ask(`frame?number=${told.frame}`).catch(() => null);
    if (answer === null) return;
    const picture = await answer.blob();
    const screen = at("screen"), before = screen.src;
    screen.src = URL.createObjectURL(picture);
    screen.hidden = false;
    await screen.decode().catch(() => {});
    if (before) URL.revokeObjectURL(before);
  },
  step(told) {
    const line = document.createElement("li");
    line.value = told.number;
    line.className = told.by;
    show(line, `${told.by === "person" ? "person: " : ""}${told.tool} ${told.arguments} (${told.effect})`);
    at("steps").append(line);
    line.scrollIntoView({ block: "nearest" });
  },
  end(told) {
    over = true;
    at("control").disabled = at("send").disabled = true;
    const score = told.error ? told.error : `score ${told.score}`;
    show(at("state"), `over: ${told.passed ? "passed" : "not passed"}, ${score}`);
  },
};

function state() {
  if (!over) show(at("state"), person ? "a person acts" : "the agent acts");
}

async function follow() {
  for (let failures = 0; failures < 5;) {
    try {
      const events = await (await ask(`events?after=${known}`)).json();
      // Of several views only the last is still of interest.
      const last = events.findLastIndex((told) => told.kind === "view");
      for (const [place, told] of events.entries()) {
        if (told.kind !== "view" || place === last) await shows[told.kind](told);
        known += 1;
      }
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!over) show(at("state"), String(error.message || error));
      await new Promise((done) => setTimeout(done, 500 * failures));
    }
  }
  if (!over) show(at("state"), "the connection is lost");
}

// Actions go one after the other; each waits until the one before is done.
function act(tool, given) {
  if (!person || over) return;
  busy = busy.then(async () => {
    show(at("fault"), "");
    for (let tries = 0; ; tries += 1) {
      try {
        await ask("act", { tool, arguments: given });
        return;
      } catch (error) {
        if (tries < 40 && String(error.message).includes("not done yet")) {
          await new Promise((done) => setTimeout(done, 250));
          continue;
        }
        show(at("fault"), error.message);
        return;
      }
    }
  });
}

at("control").addEventListener("click", () => ask("control", { person: !person }));
at("call").addEventListener("submit", (event) => {
  event.preventDefault();
  try {
    act(at("tool").value, JSON.parse(at("arguments").value || "{}"));
  } catch (error) {
    show(at("fault"), `expected JSON: ${error.message}`);
  }
});

// --- the picture ---
const screen = at("screen"), BUTTONS = ["left", "middle", "right"], FAR = 6;
let pressed = null, clicks = null, typed = "", typing = null;

function point(event) {
  const box = screen.getBoundingClientRect();
  const part = (from, size, most) => Math.max(0, Math.min(most - 1, Math.floor((from / size) * most)));
  return {
    x: part(event.clientX - box.left, box.width, screen.naturalWidth),
    y: part(event.clientY - box.top, box.height, screen.naturalHeight),
  };
}

function flush() {
  clearTimeout(typing);
  if (typed) act("type", { text: typed, clear: false });
  typed = "";
}

screen.addEventListener("contextmenu", (event) => { if (person) event.preventDefault(); });
screen.addEventListener("mousedown", (event) => {
  if (!person) return;
  event.preventDefault();
  at("keys").focus();
  flush();
  pressed = point(event);
});
screen.addEventListener("mouseup", (event) => {
  if (!person || !pressed) return;
  const from = pressed, to = point(event), button = BUTTONS[event.button];
  pressed = null;
  if (button === "left" && Math.hypot(to.x - from.x, to.y - from.y) > FAR) {
    act("drag", { from_x: from.x, from_y: from.y, to_x: to.x, to_y: to.y });
    return;
  }
  const count = clicks && clicks.button === button ? clicks.count + 1 : 1;
  if (clicks) clearTimeout(clicks.timer);
  const timer = setTimeout(() => {
    const given = { ...to };
    if (button !== "left") given.button = button;
    if (count > 1) given.count = Math.min(count, 3);
    clicks = null;
    act("click", given);
  }, 260);
  clicks = { button, count, timer };
});
screen.addEventListener("wheel", (event) => {
  if (!person) return;
  event.preventDefault();
  act("scroll", { ...point(event), direction: event.deltaY < 0 ? "up" : "down" });
}, { passive: false });

// Text comes from a field beside the picture, which knows dead keys and input methods.
const keys = at("keys");
keys.addEventListener("input", (event) => {
  if (event.isComposing) return;
  typed += keys.value;
  keys.value = "";
  clearTimeout(typing);
  typing = setTimeout(flush, 400);
});
keys.addEventListener("compositionend", () => keys.dispatchEvent(new InputEvent("input")));
keys.addEventListener("keydown", (event) => {
  if (!person || event.isComposing || ["Shift", "Control", "Alt", "Meta", "Dead"].includes(event.key)) return;
  const held = event.ctrlKey || event.altKey || event.metaKey;
  if (event.key.length === 1 && !held) return;
  event.preventDefault();
  flush();
  const names = [];
  for (const [down, name] of [[event.ctrlKey, "Control"], [event.altKey, "Alt"], [event.metaKey, "Meta"], [event.shiftKey, "Shift"]]) {
    if (down) names.push(name);
  }
  const key = event.key === " " ? "Space" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  act("press", { keys: [...names, key].join("+") });
});

if (token) follow(); else show(at("state"), "open the address that the command printed");
