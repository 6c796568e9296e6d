// Reads one document and finds its elements again. It runs in an isolated world of its own: the
// page shares the nodes with it but no object of JavaScript, so a page can neither see nor forge
// the numbers of elements. Roles follow HTML-AAM, names the usual part of accname-1.2.
(() => {
  if (globalThis.walker) return;
  // A field named "title" hides the property of its form, an image named "body" that of the
  // document. What may be hidden so is read by the getters of the prototypes.
  const getter = (prototype, name) => {
    const get = Object.getOwnPropertyDescriptor(prototype, name).get;
    return (object) => get.call(object);
  };
  const own = {
    parent: getter(Node.prototype, "parentElement"), parentNode: getter(Node.prototype, "parentNode"),
    slot: getter(Element.prototype, "assignedSlot"), root: getter(Element.prototype, "shadowRoot"),
    nodes: getter(Node.prototype, "childNodes"), first: getter(Node.prototype, "firstChild"),
    tag: getter(Element.prototype, "localName"),
    type: getter(Node.prototype, "nodeType"), name: getter(Node.prototype, "nodeName"),
    attributes: (el) => Element.prototype.getAttributeNames.call(el),
    box: (el) => Element.prototype.getBoundingClientRect.call(el),
    attribute: (el, name) => Element.prototype.getAttribute.call(el, name),
    closest: (el, what) => Element.prototype.closest.call(el, what),
    shows: (el) => Element.prototype.checkVisibility.call(el, {checkVisibilityCSS: true}),
  };
  const page = {
    get body() { return getter(Document.prototype, "body")(document); },
    get documentElement() { return getter(Document.prototype, "documentElement")(document); },
    get title() { return getter(Document.prototype, "title")(document); },
    get activeElement() { return getter(Document.prototype, "activeElement")(document); },
    get readyState() { return getter(Document.prototype, "readyState")(document); },
    get scrollingElement() { return getter(Document.prototype, "scrollingElement")(document); },
    elementFromPoint: (x, y) => Document.prototype.elementFromPoint.call(document, x, y),
    getElementsByTagName: (tag) => Document.prototype.getElementsByTagName.call(document, tag),
    querySelectorAll: (what) => Document.prototype.querySelectorAll.call(document, what),
    createRange: () => Document.prototype.createRange.call(document),
  };
  const numbers = new WeakMap(), elements = new Map(), closedRoots = new WeakMap();
  const token = `${Date.now()}-${Math.random()}`;
  let counter = 0, lastMutation = performance.now();
  const observed = new WeakSet();
  const observer = new MutationObserver(() => {
    lastMutation = performance.now();
  });
  const observe = (root) => {
    if (observed.has(root)) return;
    observed.add(root);
    observer.observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
  };
  observe(document);

  const number = (el) => {
    let found = numbers.get(el);
    if (found === undefined) {
      found = ++counter;
      numbers.set(el, found);
    }
    // One that had left the document may be back.
    if (!elements.has(found)) elements.set(found, new WeakRef(el));
    return found;
  };
  const element = (id) => {
    const found = elements.get(id)?.deref();
    return found && found.isConnected ? found : null;
  };
  const rootOf = (el) => own.root(el) || closedRoots.get(el) || null;
  const parentOf = (node) => {
    const above = own.slot(node) || own.parent(node);
    if (above) return above;
    const holder = own.parentNode(node);
    return holder instanceof ShadowRoot ? holder.host : null;
  };
  // Scripts can make an address of megabytes; no request has one.
  const address = () => location.href.slice(0, 8000);
  const squeeze = (text, most) => {
    const plain = (text || "").slice(0, most * 8).replace(/\s+/g, " ").trim();
    return plain.length > most ? plain.slice(0, most) + "\u2026" : plain;
  };

  // --- roles and names ---

  const TAGS = {
    BUTTON: "button", SUMMARY: "button", TEXTAREA: "textbox", NAV: "navigation", MAIN: "main",
    ASIDE: "complementary", DIALOG: "dialog", FORM: "form", TABLE: "table", TR: "row",
    TH: "columnheader", TD: "cell", UL: "list", OL: "list", LI: "listitem", OPTION: "option",
    OPTGROUP: "group", PROGRESS: "progressbar", METER: "meter", FIELDSET: "group",
    IMG: "image", IFRAME: "iframe", FRAME: "iframe", HR: "separator", OUTPUT: "status",
    ARTICLE: "article", FIGURE: "figure", SEARCH: "search", DETAILS: "group", VIDEO: "video",
    AUDIO: "audio", CANVAS: "canvas", EMBED: "embed", OBJECT: "embed", SVG: "image",
  };
  const INPUTS = {
    button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox",
    radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", file: "file",
    color: "color", date: "date", time: "time", month: "month", week: "week",
    "datetime-local": "datetime",
  };
  const ACTIVE = new Set(["button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox",
    "listbox", "option", "slider", "spinbutton", "switch", "tab", "menuitem", "menuitemcheckbox",
    "menuitemradio", "treeitem", "file", "color", "date", "time", "month", "week", "datetime",
    "clickable", "gridcell", "scrollbar", "video", "audio"]);
  const NAMED_BY_CONTENT = new Set(["button", "link", "heading", "option", "tab", "menuitem",
    "menuitemcheckbox", "menuitemradio", "switch", "treeitem", "checkbox", "radio", "cell",
    "gridcell", "columnheader", "rowheader", "clickable", "tooltip", "label", "graphic"]);
  const SHAPES = new Set(["circle", "rect", "ellipse", "polygon", "polyline", "path", "line",
    "text"]);
  const SECTIONED = "article, aside, main, nav, section";

  const roleOf = (el, style, cursor) => {
    const given = (el.getAttribute("role") || "").trim().split(/\s+/)[0];
    if (given && given !== "none" && given !== "presentation" && given !== "generic") return given;
    const tag = el.tagName.toUpperCase();
    if (tag === "A" || tag === "AREA") {
      return el.hasAttribute("href") ? "link" : "clickable";
    } else if (tag === "INPUT") {
      return INPUTS[el.type] || (el.hasAttribute("list") ? "combobox" : "textbox");
    } else if (tag === "SELECT") {
      return el.multiple || el.size > 1 ? "listbox" : "combobox";
    } else if (/^H[1-6]$/.test(tag)) {
      return "heading";
    } else if (tag === "TH") {
      return el.scope === "row" ? "rowheader" : "columnheader";
    } else if (tag === "HEADER" || tag === "FOOTER") {
      if (!el.closest(SECTIONED)) return tag === "HEADER" ? "banner" : "contentinfo";
    } else if (tag === "SECTION") {
      if (el.hasAttribute("aria-label") || el.hasAttribute("aria-labelledby")) return "region";
    } else if (tag === "IMG") {
      if (el.getAttribute("alt") !== "") return "image";
    } else if (tag === "LI" && style.cursor === "pointer" &&
               (cursor !== "pointer" || el.parentElement?.closest("li")) &&
               !el.querySelector("a, button, input, select, ul, ol")) {
      return "clickable";
    } else if (TAGS[tag] && given === "") {
      return TAGS[tag];
    }
    if (el instanceof SVGElement && SHAPES.has(el.localName)) return "graphic";
    if (el.isContentEditable && !(el.parentElement && el.parentElement.isContentEditable))
      return "textbox";
    if (tag === "LABEL" && el.control && hiddenControl(el.control)) return "clickable";
    if (tag === "BODY" || tag === "HTML") return "";
    if (el.hasAttribute("onclick") || (el.hasAttribute("tabindex") && el.tabIndex >= 0) ||
        el.draggable && tag !== "IMG" || (style.cursor === "pointer" && cursor !== "pointer"))
      return "clickable";
    return "";
  };
  const hiddenControl = (control) => {
    const box = control.getBoundingClientRect();
    return box.width < 2 || box.height < 2 || !control.checkVisibility({checkOpacity: true});
  };
  const content = (node, most, depth = 0) => {
    let text = "";
    for (const child of own.nodes(node instanceof Element && rootOf(node) || node)) {
      if (text.length > most) break;
      if (child instanceof Text) text += child.data;
      else if (child instanceof Element && depth < 40) {
        if (child instanceof HTMLFormElement) { text += ` ${content(child, most, depth + 1)} `; continue; }
        if (child.localName === "script" || child.localName === "style") continue;
        if (child.checkVisibility && !child.checkVisibility()) continue;
        if (aria(child, "hidden") === "true") continue;
        const label = child.getAttribute("aria-label");
        if (label) text += ` ${label} `;
        else if (child.localName === "img") text += ` ${child.alt} `;
        else if (child.localName === "slot" && child.assignedNodes().length)
          for (const given of child.assignedNodes()) text += ` ${given.textContent} `;
        else {
          const inner = content(child, most, depth + 1);
          text += getComputedStyle(child).display.startsWith("inline") ? inner : ` ${inner} `;
        }
      }
    }
    return text;
  };
  const nameOf = (el, role, most) => {
    const by = el.getAttribute("aria-labelledby");
    if (by) {
      const texts = by.split(/\s+/).slice(0, 8).map((id) => el.getRootNode().getElementById?.(id));
      const text = texts.filter(Boolean).map((part) => content(part, most)).join(" ").trim();
      if (text) return squeeze(text, most);
    }
    const label = el.getAttribute("aria-label");
    if (label && label.trim()) return squeeze(label, most);
    const tag = el.localName;
    if (tag === "input" && ["submit", "reset", "button"].includes(el.type) && (el.value || el.type !== "button"))
      return squeeze(el.value || (el.type === "submit" ? "Submit" : "Reset"), most);
    if (tag === "img" || tag === "area" || el.type === "image")
      return squeeze(el.alt || el.title || "", most);
    if (el.labels && el.labels.length) {
      const text = [...el.labels].slice(0, 4).map((part) => labelText(part, el, most)).join(" ");
      if (text.trim()) return squeeze(text, most);
    }
    const first = {fieldset: "legend", table: "caption", figure: "figcaption", svg: "title"}[tag];
    if (first) {
      const part = [...el.children].find((child) => child.localName === first);
      if (part) return squeeze(content(part, most), most);
    }
    if (tag === "optgroup") return squeeze(el.label, most);
    if (NAMED_BY_CONTENT.has(role) && !(tag === "input")) {
      const text = squeeze(content(el, most), most);
      if (text) return text;
    }
    // A form has its fields as properties: one named "title" is no text.
    const given = (name) => Element.prototype.getAttribute.call(el, name);
    return squeeze(given("title") || given("placeholder") || given("aria-placeholder") || "", most);
  };
  const labelText = (label, control, most) => {
    let text = "";
    for (const child of label.childNodes) {
      if (child instanceof Text) text += child.data;
      else if (child instanceof Element && aria(child, "hidden") === "true") continue;
      else if (child !== control && child instanceof Element && !child.contains(control) &&
               child.localName !== "select" && child.localName !== "textarea")
        text += ` ${content(child, most)} `;
      else if (child !== control && child instanceof Element && child.contains(control))
        text += ` ${labelText(child, control, most)} `;
    }
    return text;
  };
  const valueOf = (el, role, most) => {
    const tag = el.localName;
    if (tag === "input") {
      if (["checkbox", "radio", "button", "submit", "reset", "image"].includes(el.type))
        return undefined;
      if (el.type === "file") return [...el.files].map((file) => file.name).join(", ");
      if (el.type === "password") return "\u2022".repeat(Math.min(el.value.length, 64));
      return el.value.slice(0, 4000);
    }
    if (tag === "textarea") return el.value.slice(0, 4000);
    if (tag === "select")
      return [...el.selectedOptions].slice(0, 50).map((option) => option.label).join(", ");
    if (tag === "progress" || tag === "meter") return String(el.value);
    if (el.isContentEditable && role === "textbox") return squeeze(el.innerText, most * 4);
    const now = el.getAttribute("aria-valuetext") || el.getAttribute("aria-valuenow");
    return now === null ? undefined : now;
  };
  const aria = (el, name) => el.getAttribute(`aria-${name}`);
  const flagsOf = (el, role) => {
    const flags = [];
    if (el.matches(":disabled") || aria(el, "disabled") === "true" || el.inert) flags.push("disabled");
    const checked = el.localName === "input" && ["checkbox", "radio"].includes(el.type)
      ? el.checked : aria(el, "checked") === "true" || aria(el, "pressed") === "true";
    if (checked) flags.push("checked");
    if (el.indeterminate || aria(el, "checked") === "mixed") flags.push("mixed");
    if (el.localName === "option" ? el.selected : aria(el, "selected") === "true") flags.push("selected");
    const open = el.localName === "summary" ? String(Boolean(el.parentElement?.open)) : aria(el, "expanded");
    if (open === "true") flags.push("expanded");
    if (open === "false") flags.push("collapsed");
    if (el.required || aria(el, "required") === "true") flags.push("required");
    if (el.readOnly || aria(el, "readonly") === "true") flags.push("readonly");
    if (aria(el, "invalid") === "true") flags.push("invalid");
    if (el.localName === "select" && el.multiple || aria(el, "multiselectable") === "true") flags.push("multiple");
    const current = aria(el, "current");
    if (current && current !== "false") flags.push("current");
    if (el.draggable && el.localName !== "a" && el.localName !== "img") flags.push("draggable");
    return flags;
  };

  // --- where an element is, and whether it can be reached ---

  const clipOf = (el) => {
    let [left, top, right, bottom] = [0, 0, innerWidth, innerHeight];
    for (let up = parentOf(el); up; up = parentOf(up)) {
      const style = getComputedStyle(up);
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      if (up === page.documentElement || up === page.body) continue;
      const box = own.box(up);
      left = Math.max(left, box.left);
      top = Math.max(top, box.top);
      right = Math.min(right, box.right);
      bottom = Math.min(bottom, box.bottom);
    }
    return [left, top, right, bottom];
  };
  const hitAt = (x, y) => {
    let hit = page.elementFromPoint(x, y);
    for (let depth = 0; hit && depth < 20; depth++) {
      const root = rootOf(hit);
      const inner = root && root.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  };
  const belongs = (hit, el) => {
    for (let up = hit; up; up = parentOf(up)) if (up === el) return true;
    if (el.localName === "option") return belongs(hit, el.closest("select"));
    const label = hit && own.closest(hit, "label");
    if (label && label.control === el) return true;
    if (el.localName === "area") return hit && hit.localName === "img";
    return false;
  };
  const pointOf = (el) => {
    const target = el.localName === "option" ? el.closest("select") || el : el;
    const [left, top, right, bottom] = clipOf(target);
    let off = "offscreen";
    for (const box of [...target.getClientRects()].slice(0, 8)) {
      const x1 = Math.max(box.left, left), x2 = Math.min(box.right, right);
      const y1 = Math.max(box.top, top), y2 = Math.min(box.bottom, bottom);
      if (x2 - x1 < 1 || y2 - y1 < 1) continue;
      off = "covered";
      for (const [u, v] of [[0.5, 0.5], [0.25, 0.25], [0.75, 0.75], [0.25, 0.75], [0.75, 0.25]]) {
        const x = x1 + (x2 - x1) * u, y = y1 + (y2 - y1) * v;
        const hit = hitAt(x, y);
        if (belongs(hit, el)) return {x, y, state: "", hit};
        if (u === 0.5) var cover = hit;
      }
    }
    return {x: 0, y: 0, state: off, cover};
  };

  // --- the tree ---

  // A page may give any attribute megabytes, and all of a tree goes through one message.
  const MOST_CHARS = {r: 60, k: 1000, v: 4000}, MOST_ATTRIBUTE = 2000, MOST_TOTAL = 4_000_000;
  const fitting = (nodes) => {
    let total = 0, kept = 0;
    for (const node of nodes) {
      for (const [key, value] of Object.entries(node)) {
        const most = MOST_CHARS[key] || MOST_ATTRIBUTE;
        if (typeof value === "string") total += (node[key] = value.slice(0, most)).length;
        else if (key === "g") node.g = value.map((bound) => String(bound).slice(0, 60));
      }
      if (total > MOST_TOTAL) break;
      kept++;
    }
    return kept;
  };
  const snapshot = (budget) => {
    const started = performance.now(), out = [], most = budget.chars;
    const scrolled = [scrollX, scrollY], near = budget.near;
    let visited = 0, left = 0, cut = false, suspects = 0;
    const frames = [];
    const full = () => {
      if (cut) return true;
      if (out.length >= budget.nodes || visited >= budget.visits ||
          (visited & 63) === 0 && performance.now() - started > budget.ms) cut = true;
      return cut;
    };
    const active = deepActive();
    const walk = (node, depth, cursor, covered) => {
      // `covered`: text of this subtree already stands in a name.
      for (const child of childrenOf(node)) {
        if (full()) { left++; continue; }
        visited++;
        if (child instanceof Text) {
          if (covered) continue;
          const text = squeeze(child.data, most * 4);
          if (!text) continue;
          const last = out[out.length - 1];
          if (last && last.r === "text" && last.d === depth && last.n.length < most * 4 && !last.end)
            last.n += ` ${text}`;
          else out.push({r: "text", n: text, d: depth});
          continue;
        }
        if (child instanceof Element) visit(child, depth, cursor, covered);
      }
    };
    const form = (el, depth, cursor, covered) => {
      const style = getComputedStyle(el), box = own.box(el);
      if (style.display === "none") return;
      const role = own.attribute(el, "role") || "form", name = squeeze(own.attribute(el, "aria-label"), most);
      out.push({i: number(el), r: role, d: depth, n: name, k: ["form", name, own.attribute(el, "id")].join("\u0001"),
                b: [Math.round(box.left), Math.round(box.top), Math.round(box.width), Math.round(box.height)]});
      walk(el, depth + 1, style.cursor, covered);
      out[out.length - 1].end = 1;
    };
    const visit = (el, depth, cursor, covered) => {
      if (el instanceof HTMLFormElement) { form(el, depth, cursor, covered); return; }
      const tag = el.localName;
      if (tag === "script" || tag === "style" || tag === "noscript" || tag === "template" ||
          tag === "head" || tag === "datalist") return;
      const file = tag === "input" && el.type === "file";
      const style = getComputedStyle(el);
      if (style.display === "none" && !file) return;
      if (near && style.position !== "fixed" && style.display !== "contents") {
        const box = el.getBoundingClientRect();
        if (box.height && (box.bottom < -innerHeight || box.top > 2 * innerHeight)) { left++; return; }
      }
      const seen = style.visibility === "visible" && style.opacity !== "0" || file;
      const ghost = style.visibility === "visible" && style.opacity === "0";
      let role = seen || ghost && (tag === "input" || tag === "a" || tag === "button") ? roleOf(el, style, cursor) : "";
      if (el.shadowRoot) observe(el.shadowRoot);
      else if (!closedRoots.has(el) && (tag.includes("-") || !el.firstChild)) suspects += suspicious(el, tag);
      let below = depth, inName = covered;
      if (role && !(covered && (role === "text" || role === "paragraph"))) {
        const active_ = ACTIVE.has(role);
        let box = el.getBoundingClientRect();
        const empty = box.width < 1 || box.height < 1;
        if (active_ && empty && !file && tag !== "option" && tag !== "area") {
          // Nothing to act upon; what is inside may have a box of its own.
        } else {
          const node = {i: number(el), r: role, d: depth, n: nameOf(el, role, most)};
          node.b = [Math.round(box.left), Math.round(box.top), Math.round(box.width), Math.round(box.height)];
          const value = valueOf(el, role, most);
          if (value !== undefined) node.v = value;
          const flags = flagsOf(el, role);
          if (el === active) flags.push("focused");
          if (empty || ghost) flags.push("hidden");
          else if (active_ && tag !== "option") {
            const state = pointOf(el).state;
            if (state) flags.push(state);
          }
          if (flags.length) node.f = flags;
          if (role === "link" && el.href) node.h = typeof el.href === "string" ? el.href : el.href.baseVal;
          if (role === "heading") node.l = Number(aria(el, "level")) || Number(el.tagName[1]) || 2;
          if (role === "slider" || role === "spinbutton") node.g = [el.min ?? aria(el, "valuemin") ?? "", el.max ?? aria(el, "valuemax") ?? "", el.step ?? ""];
          if (role === "textbox" && el.maxLength > 0) node.m = el.maxLength;
          if (role === "graphic") { node.c = el.getAttribute("fill") || style.fill; node.s = tag; }
          else if (role === "clickable" && !node.n && style.backgroundColor !== "rgba(0, 0, 0, 0)") node.c = style.backgroundColor;
          if (el.validationMessage && (el.matches(":user-invalid") || flags.includes("invalid"))) node.w = squeeze(el.validationMessage, 120);
          if (scrolls(el, style)) node.y = [Math.round(el.scrollTop), el.scrollHeight - el.clientHeight];
          node.k = identity(el, role, node.n);
          if (role === "iframe") frames.push(node.i);
          out.push(node);
          below = depth + 1;
          inName = inName || NAMED_BY_CONTENT.has(role) && node.n !== "" && named(el, role);
          if (role === "textbox" || role === "searchbox" || role === "iframe") return;
          if (role === "combobox" && tag === "select" || tag === "video" || tag === "audio") {
            options(el, below, out);
            return;
          }
        }
      } else if (!role && seen && scrolls(el, style)) {
        const box = el.getBoundingClientRect();
        out.push({i: number(el), r: "scrollable", d: depth, n: "", k: identity(el, "scrollable", ""),
                  b: [Math.round(box.left), Math.round(box.top), Math.round(box.width), Math.round(box.height)],
                  y: [Math.round(el.scrollTop), el.scrollHeight - el.clientHeight]});
        below = depth + 1;
      }
      if (tag === "label" && el.control && !hiddenControl(el.control)) inName = true;
      const count = out.length;
      walk(el, below, style.cursor, inName);
      if (out.length > count && !style.display.startsWith("inline")) out[out.length - 1].end = 1;
      else if (!style.display.startsWith("inline") && count) out[count - 1].end = 1;
    };
    const options = (el, depth, out) => {
      for (const option of [...(el.options || [])].slice(0, 200)) {
        if (full()) { left++; continue; }
        const flags = [];
        if (option.selected) flags.push("selected");
        if (option.disabled) flags.push("disabled");
        out.push({i: number(option), r: "option", d: depth, n: squeeze(option.label, most),
                  b: [0, 0, 0, 0], v: option.value === option.label ? undefined : option.value, f: flags,
                  k: identity(option, "option", option.value)});
      }
    };
    if (page.body) visit(page.body, 0, "", false);
    else if (page.documentElement) visit(page.documentElement, 0, "", false);
    const gone = [];
    for (const [id, ref] of elements) {
      const el = ref.deref();
      if (!el || !el.isConnected) { gone.push(id); elements.delete(id); }
    }
    for (const node of out) delete node.end;
    const kept = fitting(out);
    if (kept < out.length) { cut = true; left += out.length - kept; out.length = kept; }
    return {
      token, nodes: out, cut, left, gone, frames, suspects,
      elements: cut ? page.getElementsByTagName("*").length : visited,
      focused: active && numbers.get(active) || 0,
      scroll: [...scrolled, page.documentElement?.scrollWidth || 0, page.documentElement?.scrollHeight || 0],
      view: [innerWidth, innerHeight],
      url: address(), title: page.title.slice(0, 300), ready: page.readyState,
    };
  };
  const named = (el, role) => !el.getAttribute("aria-label") || role !== "cell";
  const scrolls = (el, style) =>
    el !== page.body && el !== page.documentElement && el.scrollHeight > el.clientHeight + 4 &&
    el.clientHeight > 20 && (style.overflowY === "auto" || style.overflowY === "scroll");
  const childrenOf = (node) => {
    const root = node instanceof Element && rootOf(node);
    if (root) return root.childNodes;
    if (node instanceof HTMLFormElement) return own.nodes(node);
    if (node.localName === "slot") {
      const given = node.assignedNodes();
      if (given.length) return given;
    }
    if (node.localName === "details" && !node.open) return [...node.children].filter((c) => c.localName === "summary").slice(0, 1);
    return node.childNodes;
  };
  const deepActive = () => {
    let found = page.activeElement;
    while (found) {
      const inner = rootOf(found)?.activeElement;
      if (!inner) break;
      found = inner;
    }
    return found === page.body ? null : found;
  };
  // An element that looks filled without children of its own may hold a closed shadow root.
  const checkedEmpty = new WeakMap();
  const HOSTS = new Set(["article", "aside", "blockquote", "div", "footer", "header", "main", "nav", "p", "section", "span"]);
  const suspicious = (el, tag) => {
    if (!tag.includes("-") && !HOSTS.has(tag)) return 0;
    const box = el.getBoundingClientRect();
    if (!tag.includes("-") && (box.height < 4 || box.width < 4)) return 0;
    const size = `${Math.round(box.width)}x${Math.round(box.height)}`;
    if (checkedEmpty.get(el) === size) return 0;
    checkedEmpty.set(el, size);
    return 1;
  };
  const adopt = (root) => {
    closedRoots.set(root.host, root);
    observe(root);
  };
  // Tells a rendered-again element from another one: what it is, and the item it stands in.
  const identity = (el, role, name) => {
    const item = el.closest("li, tr, article, [role=row], [role=listitem], [role=option], fieldset");
    const near = item && item !== el ? squeeze(item.textContent, 160) : "";
    return [role, name, el.localName, el.id, el.getAttribute("name"), el.getAttribute("type"),
            el.getAttribute("href"), el.getAttribute("data-id"), near].join("\u0001");
  };

  // --- acting ---

  const target = (id) => {
    const el = element(id);
    if (!el) throw new Error("gone");
    return el;
  };
  const describe = (el) => {
    if (!el) return "nothing";
    if (el instanceof HTMLFormElement) return "form";
    const style = getComputedStyle(el);
    const name = nameOf(el, roleOf(el, style, "") || el.localName, 40) || squeeze(el.textContent, 40);
    const role = (roleOf(el, style, "") || el.localName).slice(0, 60);
    return `${role}${name ? ` "${name}"` : ""}`;
  };
  const point = (id) => {
    const el = target(id);
    let found = pointOf(el);
    if (found.state) {
      const shown = el.localName === "option" ? el.closest("select") || el : el;
      shown.scrollIntoView({block: "center", inline: "center", behavior: "instant"});
      found = pointOf(el);
    }
    return {x: found.x, y: found.y, state: found.state, cover: found.state === "covered" ? describe(found.cover) : "",
            disabled: el.matches(":disabled"), tag: el.localName, type: String(el.type || "").slice(0, 60)};
  };
  const set = (el, value) => {
    const prototype = el.localName === "textarea" ? HTMLTextAreaElement : HTMLInputElement;
    Object.getOwnPropertyDescriptor(prototype.prototype, "value").set.call(el, value);
  };
  const tell = (el, ...types) => {
    for (const type of types) el.dispatchEvent(new Event(type, {bubbles: true, composed: true}));
  };
  const PICKED = new Set(["date", "time", "month", "week", "datetime-local", "color", "range"]);
  const fill = (id, text, clear) => {
    const el = target(id);
    if (el.matches(":disabled")) return {error: "it is disabled"};
    if (el.readOnly) return {error: "it is read-only"};
    el.scrollIntoView({block: "nearest", inline: "nearest", behavior: "instant"});
    const tag = el.localName;
    if (tag === "input" && PICKED.has(el.type)) {
      const before = el.value;
      el.focus();
      set(el, text);
      if (el.value !== text && !(el.type === "range" && Number(el.value) === Number(text)) &&
          !(el.type === "color" && el.value === text.toLowerCase()) && !(el.type === "time" && text.startsWith(el.value))) {
        const became = el.value;
        set(el, before);
        return {error: `${el.type} does not take "${text}"` + (became ? `; it would become "${became}"` : "")};
      }
      if (el.value !== before) tell(el, "input", "change");
      return {done: true};
    }
    const typed = tag === "textarea" || tag === "input" && !["checkbox", "radio", "file", "button", "submit", "reset", "image"].includes(el.type);
    if (!typed && !el.isContentEditable) return {error: `text cannot be typed into a ${el.type && tag === "input" ? el.type : roleOf(el, getComputedStyle(el), "") || tag}`};
    el.focus();
    if (typed) {
      if (clear) el.select();
      else { try { el.setSelectionRange(el.value.length, el.value.length); } catch { /* number, email */ } }
      return {empty: el.value === ""};
    }
    const range = page.createRange();
    range.selectNodeContents(el);
    if (!clear) range.collapse(false);
    const selection = (el.getRootNode().getSelection ? el.getRootNode() : document).getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    return {empty: el.innerText.trim() === ""};
  };
  const choose = (id, values) => {
    let el = target(id);
    if (el.localName === "option") el = el.closest("select");
    if (!el || el.localName !== "select") return {error: "it is not a list of options"};
    if (el.matches(":disabled")) return {error: "it is disabled"};
    if (values.length !== 1 && !el.multiple) return {error: `it takes one value, got ${values.length}`};
    const options = [...el.options];
    const picked = [];
    for (const value of values) {
      const option = options.find((o) => o.label.trim() === value.trim()) || options.find((o) => o.value === value) ||
        options.find((o) => o.text.trim().replace(/\s+/g, " ") === value.trim());
      if (!option) return {error: `it has no option "${value}"; it has ${options.slice(0, 20).map((o) => `"${squeeze(o.label, 100)}"`).join(", ")}`};
      if (option.disabled) return {error: `option "${value}" is disabled`};
      picked.push(option);
    }
    el.focus();
    let changed = false;
    for (const option of options) {
      const wanted = picked.includes(option);
      if (option.selected !== wanted) { option.selected = wanted; changed = true; }
    }
    if (changed) tell(el, "input", "change");
    return {done: true};
  };
  // An option of a list that is closed: chosen as by `choose`, among the others if there may be many.
  const pick = (id) => {
    const el = target(id), list = el.localName === "option" ? el.closest("select") : null;
    if (!list) return null;
    if (list.matches(":disabled") || el.disabled) return {error: "it is disabled"};
    list.focus();
    if (list.multiple) el.selected = !el.selected;
    else if (el.selected) return {done: true};
    else el.selected = true;
    tell(list, "input", "change");
    return {done: true};
  };
  const focus = (id) => {
    const el = target(id);
    el.scrollIntoView({block: "nearest", inline: "nearest", behavior: "instant"});
    el.focus();
    return {done: true};
  };
  const scroll = (id, dx, dy) => {
    const el = id ? target(id) : page.scrollingElement || page.documentElement;
    let inner = el;
    if (id) while (inner && !(inner.scrollHeight > inner.clientHeight + 1 || inner.scrollWidth > inner.clientWidth + 1)) inner = parentOf(inner);
    inner = inner || page.scrollingElement || page.documentElement;
    const before = [inner.scrollLeft, inner.scrollTop];
    const size = [inner.clientWidth || innerWidth, inner.clientHeight || innerHeight];
    inner.scrollBy({left: dx * size[0], top: dy * size[1], behavior: "instant"});
    return {moved: inner.scrollLeft !== before[0] || inner.scrollTop !== before[1]};
  };
  const show = (id) => {
    target(id).scrollIntoView({block: "center", inline: "center", behavior: "instant"});
    return {moved: true};
  };
  const quiet = () => ({
    idle: performance.now() - lastMutation, ready: page.readyState, token, url: address(),
  });
  // One frame and one task, so that handlers, their promises and the layout have had their turn.
  const painted = () => new Promise((resolve) => {
    setTimeout(resolve, 60);
    requestAnimationFrame(() => setTimeout(resolve, 0));
  });
  // Waits until nothing has changed for `idle` ms, but at least `least` ms and at most `most` ms, and
  // takes a snapshot at that moment if there is a budget for one.
  const settled = async ({idle, least, most, budget}) => {
    const began = performance.now();
    const told = (calm) => ({...quiet(), waited: performance.now() - began, calm});
    await painted();
    for (;;) {
      const state = told(false), wait = Math.max(idle - state.idle, least - state.waited);
      if (state.ready === "loading" || wait > 0 && state.waited >= most) return state;
      if (wait <= 0) {
        let seen = null;
        try { if (budget) seen = snapshot(budget); } catch { /* Reading it says why. */ }
        return {...told(true), snapshot: seen};
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(wait, most - state.waited)));
    }
  };

  // The readable text: headings with marks, list items and table rows on lines of their own.
  const readable = (most) => {
    const parts = [], frames = [], deadline = performance.now() + 1000;
    let size = 0, visited = 0;
    const add = (text) => { parts.push(text); size += text.length; };
    const walk = (node) => {
      for (const child of childrenOf(node)) {
        if (size > most || (++visited & 255) === 0 && performance.now() > deadline) return;
        if (child instanceof Text) { add(child.data.replace(/\s+/g, " ")); continue; }
        if (!(child instanceof Element)) continue;
        const tag = own.tag(child);
        if (["script", "style", "noscript", "template", "head", "svg"].includes(tag)) continue;
        if (!own.shows(child)) continue;
        if (tag === "iframe") { frames.push(number(child)); continue; }
        if (tag === "br") { add("\n"); continue; }
        if (tag === "img") { if (child.alt) add(`[image: ${child.alt}]`); continue; }
        if (tag === "input" || tag === "textarea" || tag === "select") {
          const role = roleOf(child, getComputedStyle(child), "");
          const value = valueOf(child, role, 250);
          if (child.type !== "hidden") add(` [${role}${child.checked ? " checked" : ""}${value ? `: ${value}` : ""}] `);
          continue;
        }
        const block = !getComputedStyle(child).display.startsWith("inline");
        const cell = tag === "td" || tag === "th";
        if (cell) add("\t");
        else if (block) add("\n");
        if (/^h[1-6]$/.test(tag)) add(`${"#".repeat(Number(tag[1]))} `);
        if (tag === "li") add("- ");
        if (tag === "pre") add(child.textContent);
        else walk(child);
        if (block && !cell) add("\n");
      }
    };
    if (page.body) walk(page.body);
    const text = parts.join("").replace(/[ \t]*\n[ \t]*/g, "\n").replace(/ +/g, " ").replace(/\n{3,}/g, "\n\n").trim();
    return {text: text.slice(0, most), frames};
  };
  // All nodes of the document in its order, shadow trees included, in the columns of DOMSnapshot.
  const attributesOf = (el) => {
    const found = own.attributes(el).map((name) => [name, own.attribute(el, name)])
      .filter(([name]) => !["value", "checked", "selected"].includes(name));
    // What a visitor has entered is no attribute; a password is not told.
    const value = el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement ||
      el instanceof HTMLSelectElement || el instanceof HTMLOptionElement;
    if (value) found.push(["value", el.type === "password" ? "\u2022".repeat(Math.min(el.value.length, 64)) : el.value]);
    if (el instanceof HTMLInputElement && el.checked) found.push(["checked", ""]);
    if (el instanceof HTMLOptionElement && el.selected) found.push(["selected", ""]);
    return found;
  };
  const columns = (most) => {
    const out = {parent: [], type: [], name: [], value: [], attributes: [], element: []};
    const waiting = [[document, -1]], frames = [];
    let chars = 0;
    const text = (given) => {
      const told = given === null || chars > most.total ? "" : String(given).slice(0, most.chars);
      chars += told.length;
      return told;
    };
    while (waiting.length && out.type.length < most.nodes && chars < most.total) {
      const [node, parent] = waiting.pop(), at = out.type.length;
      out.parent.push(parent);
      out.type.push(own.type(node));
      out.name.push(text(own.name(node)));
      const isElement = node instanceof Element;
      out.value.push(node instanceof CharacterData ? text(node.data) : "");
      out.attributes.push(isElement ? attributesOf(node).map((pair) => pair.map(text)) : []);
      out.element.push(isElement && numbers.get(node) || 0);
      if (isElement && ["iframe", "frame"].includes(own.tag(node))) frames.push([at, number(node)]);
      const below = [...own.nodes(node)].reverse().map((child) => [child, at]);
      const root = isElement && rootOf(node);
      if (root) below.push([root, at]);
      for (const each of below) waiting.push(each);
    }
    return {...out, frames, token, cut: waiting.length > 0};
  };
  // The state of a document that a fork can restore.
  const FIELDS = "input, textarea, select";
  const FOCUSED = "input, textarea, select, button, a, summary, iframe, [tabindex], [contenteditable]";
  const field = (el) => ({
    kind: `${el.localName}:${el.type}:${el.name || el.id}`,
    value: el.type === "file" ? "" : el.value, checked: el.checked || false,
    chosen: el.localName === "select" ? [...el.options].map((o) => o.selected) : [],
  });
  const storage = () => { try { return Object.entries(sessionStorage).sort(); } catch { return []; } };
  const MOST_KEPT = 8_000_000;
  const keep = () => {
    const fields = [];
    let size = 0;
    for (const el of page.querySelectorAll(FIELDS)) {
      const kept = field(el);
      size += kept.kind.length + kept.value.length + 6 * kept.chosen.length;
      if (size > MOST_KEPT) throw new Error("its forms hold more than a fork can keep");
      fields.push(kept);
    }
    return {
      fields, scroll: [scrollX, scrollY], session: storage(),
      focus: [...page.querySelectorAll(FOCUSED)].indexOf(page.activeElement),
    };
  };
  const reset_session = (kept) => {
    if (JSON.stringify(storage()) === JSON.stringify(kept)) return false;
    sessionStorage.clear();
    for (const [name, value] of kept) sessionStorage.setItem(name, value);
    return true;
  };
  const restore = (kept) => {
    const fields = [...page.querySelectorAll(FIELDS)];
    kept.fields.forEach((was, index) => {
      const el = fields[index], now = el && field(el);
      if (!now || now.kind !== was.kind || JSON.stringify(now) === JSON.stringify(was)) return;
      if (el.localName === "select") [...el.options].forEach((o, i) => { o.selected = was.chosen[i]; });
      else if (el.type === "checkbox" || el.type === "radio") el.checked = was.checked;
      else if (el.type !== "file") set(el, was.value);
      tell(el, "input", "change");
    });
    page.querySelectorAll(FOCUSED)[kept.focus]?.focus({preventScroll: true});
    scrollTo({left: kept.scroll[0], top: kept.scroll[1], behavior: "instant"});
  };
  const frame = (id) => {
    const el = target(id), box = el.getBoundingClientRect(), style = getComputedStyle(el);
    return {x: box.left + el.clientLeft + parseFloat(style.paddingLeft),
            y: box.top + el.clientTop + parseFloat(style.paddingTop)};
  };

  globalThis.walker = {
    snapshot, point, fill, choose, pick, focus, scroll, show, quiet, settled, adopt, frame,
    readable, columns, keep, reset_session, restore, token_: () => token,
    element: (id) => target(id), number,
  };
})();
