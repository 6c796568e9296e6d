"""The browser surface over real pages: what is seen, what can be done, what is refused."""

from __future__ import annotations

import asyncio
import json

import pytest
from web_pages import WebPages

from agentgym.errors import ConfigError, SurfaceError, UnsupportedError
from agentgym.records import Action, Effect, SurfaceConfig
from agentgym.surfaces.browser import BrowserKind
from agentgym.testing.surface import CHECKS

SEND = "<form method=post action=/in><button>Send</button></form>"
FORM = """<!doctype html><title>Form</title><main><h1>Order</h1>
<form method="post" action="/save" enctype="multipart/form-data">
<label>Name <input name="name" required></label>
<label for="d">Day</label><input id="d" type="date" name="day">
<input type="color" name="colour" aria-label="Colour">
<input type="range" name="size" min="0" max="10" aria-label="Size" value="5">
<label><input type="checkbox" name="gift"> Gift</label>
<select name="kind" aria-label="Kind"><option value="a">Apple</option>
<option value="b">Beet</option></select>
<select name="tags" aria-label="Tags" multiple>
<option>red</option><option>green</option><option>blue</option></select>
<label>File <input type="file" name="file"></label>
<textarea name="note" aria-label="Note"></textarea>
<div contenteditable aria-label="Body"></div>
<button disabled>Never</button><button>Save</button></form></main>"""
BUTTON = "<button onclick=\"document.title = 'done'\">Go</button>"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_contract(check):
    kind = BrowserKind(SurfaceConfig((), {}, False, 1_000))
    await check(kind, WebPages({"/": FORM, "/save": "<p>Saved"}).context())


@pytest.mark.parametrize("options", [{"wide": 1}, {"width": 10}, {"nodes": "many"}])
def test_wrong_options_are_told(options):
    with pytest.raises(ConfigError, match=r"surface\.browser"):
        BrowserKind(SurfaceConfig((), options, False, 1_000))


async def test_a_form_is_filled_and_sent(browse):
    saved = []

    def save(scope, body):
        saved.append(body)
        return (303, [(b"location", b"/thanks"), (b"set-cookie", b"who=dora; Path=/")], b"")

    def thanks(scope, body):
        return f"<h1>Thanks</h1>{dict(scope['headers']).get(b'cookie', b'').decode()}"

    visit = await browse({"/": FORM, "/save": save, "/thanks": thanks})
    assert "disabled" in visit.node("button", "Never")
    for name, text in [("Name", "Dora"), ("Day", "2026-11-23"), ("Colour", "#aabbcc")]:
        await visit.act("type", ref=visit.ref(None or visit_role(name), name), text=text)
        assert visit.last == "changed", visit.text
    await visit.act("type", ref=visit.ref("slider", "Size"), text="7")
    await visit.click("checkbox", "Gift")
    await visit.act("select", ref=visit.ref("combobox", "Kind"), values=["Beet"])
    await visit.act("select", ref=visit.ref("listbox", "Tags"), values=["red", "blue"])
    long = "line one\n" + "and much more " * 20
    await visit.act("type", ref=visit.ref("textbox", "Note"), text=long)
    await visit.act("type", ref=visit.ref("textbox", "Body"), text="rich")
    assert visit.node("textbox", "Body")["value"] == "rich"
    files = [{"name": "a.txt", "text": "hello file"}]
    await visit.act("upload", ref=visit.ref("file", "File"), files=files)
    assert visit.node("file", "File")["value"] == "a.txt"
    await visit.click("button", "Save")
    assert visit.last == "navigated" and "who=dora" in visit.text
    for part in (b"Dora", b"2026-11-23", b"#aabbcc", b"hello file", b"rich"[:0], b"line one\r\n"):
        assert part in saved[0]
    for field, value in [(b"size", b"7"), (b"kind", b"b"), (b"tags", b"red"), (b"tags", b"blue")]:
        assert b'name="' + field + b'"\r\n\r\n' + value in saved[0]
    assert b"green" not in saved[0]
    (entry,) = [e for e in visit.surface.log.entries if e.mutating]
    assert (entry.method, entry.status, entry.url) == ("POST", 303, "http://pages.example/save")


def visit_role(name):
    return {"Name": "textbox", "Day": "date", "Colour": "color"}[name]


async def test_references_survive_what_a_page_renders_again(browse):
    visit = await browse("""<ul id="list"></ul><button onclick="draw()">Again</button>
<button onclick="draw(['Bo', 'Cy'])">Fewer</button><script>
function draw(names = ['Ann', 'Bo', 'Cy']) {
  list.innerHTML = names.map((n) => `<li>${n} <button>Delete</button></li>`).join('');
}
draw();</script>""")
    before = [node["ref"] for node in visit.nodes if node["name"] == "Delete"]
    assert all(node.get("duplicate") for node in visit.nodes if node["name"] == "Delete")
    await visit.click("button", "Again")
    assert [n["ref"] for n in visit.nodes if n["name"] == "Delete"] == before
    await visit.click("button", "Fewer")
    assert [n["ref"] for n in visit.nodes if n["name"] == "Delete"] == before[1:]
    gone = await visit.act("click", ref=before[0])
    assert gone.effect is Effect.ERROR and "is not on the page any more" in gone.text


async def test_a_page_can_neither_see_nor_forge_references(browse):
    visit = await browse("""<button ref="1" data-ref="2" id="b">Real</button><p id="seen"></p>
<script>
const found = Object.keys(window).filter((k) => /walk|agentgym/i.test(k));
seen.textContent = [typeof walker, found.join(),
  b.getAttributeNames().join()].join(' | ');
Element.prototype.getBoundingClientRect = () => ({left: 0, top: 0, width: 9, height: 9});
Document.prototype.elementFromPoint = () => null;
window.WeakMap = Map.prototype.get = null;</script>""")
    assert "undefined | | ref,data-ref,id" in visit.text
    await visit.click("button", "Real")
    assert visit.last == "changed" and visit.node("button", "Real")["box"][2] > 9
    assert (await visit.act("click", ref=999)).effect is Effect.ERROR
    assert "no element has had the reference [999]" in visit.text


async def test_names_of_fields_hide_nothing_of_a_page(browse):
    hidden = ("title", "id", "name", "children", "childNodes", "tagName", "localName", "parentNode")
    hidden += ("getAttribute", "getBoundingClientRect", "parentElement", "closest", "shadowRoot")
    fields = "".join(f"<input name={name} aria-label='field {name}'>" for name in hidden)
    visit = await browse(
        f"<title>Real</title><img name=body><img name=title><form name=activeElement>{fields}"
        "<button type=button onclick='this.textContent = `Done`'>Go</button></form>"
    )
    assert (
        "title: Real" in visit.text
        and len([n for n in visit.nodes if n["role"] == "textbox"]) == 13
    )
    await visit.click("button", "Go")
    assert visit.node("button", "Done") and visit.last == "changed"


async def test_links_without_address_and_rows_with_a_pointer_can_be_clicked(browse):
    visit = await browse(
        "<a onclick='document.title = `next`'>Next</a><ul><li style='cursor:pointer' "
        "onclick='document.title = `item`'>One</ul><textarea aria-label=Long></textarea><script>"
        "document.querySelector('textarea').value = 'x'.repeat(2000)</script>"
    )
    assert len(visit.node("textbox", "Long")["value"]) == 2000 and "(2000 characters)" in visit.text
    await visit.click("clickable", "Next")
    assert "title: next" in visit.text
    await visit.click("clickable", "One")
    assert "title: item" in visit.text


async def test_shadow_trees_and_frames_are_one_tree(browse):
    inner = "<button onclick=\"parent.document.title = 'inner'\">Inside</button>"
    visit = await browse(
        {
            "/": """<div id="open"></div><div id="closed"></div>
<iframe src="/frame"></iframe><iframe src="http://other.example/far"></iframe><script>
document.getElementById('open').attachShadow({mode: 'open'}).innerHTML =
  '<button onclick="document.title = `open`">Open</button>';
document.getElementById("closed").attachShadow({mode: 'closed'}).innerHTML =
  '<button onclick="document.title = `closed`">Closed</button>';</script>""",
            "/frame": inner,
            "/far": "<button onclick=\"this.textContent = 'hit'\">Far</button>",
        }
    )
    for name in ("Open", "Closed", "Inside"):
        await visit.click("button", name)
        assert f"title: {name.lower().replace('inside', 'inner')}" in visit.text
    await visit.click("button", "Far")
    assert visit.node("button", "hit")["depth"] == 1


async def test_covered_and_offscreen_elements_are_flagged(browse):
    visit = await browse("""<button>Under</button>
<div style="position:fixed;inset:0 0 auto 0;height:60px;background:white">Veil</div>
<div style="height:3000px"></div><button onclick="document.title='deep'">Deep</button>""")
    assert visit.node("button", "Under")["covered"] and visit.node("button", "Deep")["offscreen"]
    await visit.click("button", "Under")
    assert 'is covered by div "Veil"' in visit.last
    await visit.click("button", "Deep")
    assert "title: deep" in visit.text and "offscreen" not in visit.node("button", "Deep")


async def test_dialogs_wait_for_an_answer(browse):
    visit = await browse("""
<button onclick="document.title = prompt('Your name?', 'Bo')">Ask</button>
<button onclick="document.title = confirm('Sure?')">Sure</button>""")
    await visit.click("button", "Ask")
    assert 'dialog: prompt "Your name?" default="Bo"' in visit.text
    ask = visit.seen.data["dialog"]
    assert ask == {"type": "prompt", "message": "Your name?", "default": "Bo"}
    assert (await visit.act("press", keys="Enter")).effect is Effect.ERROR
    await visit.act("dialog", accept=True, text="Dora")
    assert "title: Dora" in visit.text
    await visit.click("button", "Sure")
    await visit.act("dialog", accept=False)
    assert "title: false" in visit.text
    assert (await visit.act("dialog", accept=True)).effect is Effect.ERROR


async def test_tabs_open_switch_and_close(browse):
    visit = await browse(
        {
            "/": "<title>One</title><a href='/b' target='_blank'>Open</a>",
            "/b": "<title>Two</title><a href='/'>Back</a>",
        }
    )
    await visit.click("link", "Open")
    assert "tabs: 1 One | 2* Two" in visit.text
    await visit.act("tab_switch", tab=1)
    assert "tabs: 1* One | 2 Two" in visit.text and "title: One" in visit.text
    await visit.act("tab_close", tab=2)
    assert "tabs:" not in visit.text
    await visit.act("tab_new", url="/b")
    assert "title: Two" in visit.text
    assert (await visit.act("tab_switch", tab=9)).effect is Effect.ERROR


async def test_history_and_addresses(browse):
    visit = await browse(
        {"/": "<title>A</title><a href='/b?q=1#x'>B</a>", "/b": "<title>B</title>"}
    )
    assert "-> /b?q=1#x" in visit.text
    await visit.click("link", "B")
    assert visit.last == "navigated" and "url: http://pages.example/b?q=1#x" in visit.text
    await visit.act("back")
    assert "title: A" in visit.text
    await visit.act("forward")
    assert "title: B" in visit.text
    assert (await visit.act("forward")).effect is Effect.ERROR
    await visit.act("goto", url="/")
    assert "title: A" in visit.text
    await visit.act("reload")
    assert visit.last == "navigated"


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "chrome://version",
        "view-source:http://pages.example/",
        "javascript:alert(1)",
        "data:text/html,hi",
        "devtools://devtools",
        "https://elsewhere.example/",
        "https://pages.example:8443/",
        "http://",
    ],
)
async def test_other_addresses_cannot_be_opened(browse, url):
    visit = await browse("<title>A</title>")
    await visit.act("goto", url=url)
    assert visit.seen.effect is Effect.ERROR and "passwd:" not in visit.text


async def test_only_the_sites_of_the_episode_answer(browse):
    visit = await browse("""<p id="p"></p><script>
const urls = ['http://127.0.0.1/', 'http://localhost:9222/json', 'http://[::1]/',
  'http://169.254.169.254/', 'http://elsewhere.example/'];
Promise.all(urls.map((u) => fetch(u, {mode: 'no-cors'}).then(() => 'answered', () => 'failed')))
  .then((all) => { p.textContent = `tried ${all.length}`; });
new WebSocket('ws://pages.example/');
</script><img src="file:///etc/hostname">""")
    await visit.act("wait", seconds=0.2)
    assert "tried 5" in visit.text
    refused = [entry for entry in visit.surface.log.entries if entry.refused]
    assert {e.url.split("/")[2] for e in refused if "://" in e.url} >= {
        "pages.example",
        "127.0.0.1",
        "localhost:9222",
        "[::1]",
        "169.254.169.254",
        "elsewhere.example",
    }
    assert [path for _, path, _ in visit.web.asked if path == "/"] == ["/"]


async def test_sites_answer_https_too(browse):
    def shown(scope, body):
        told = f"<title>{scope['scheme']} {scope['server'][1]} {body.decode()}</title>"
        return 200, [(b"set-cookie", b"a=b; Secure; HttpOnly; Path=/")], told + SEND

    visit = await browse({"/": shown, "/in": lambda scope, body: (303, [(b"location", b"/")], "")})
    assert "title: http 80" in visit.text
    await visit.act("goto", url="https://pages.example/")
    assert "title: https 443" in visit.text and "url: https://pages.example/" in visit.text
    await visit.click("button", "Send")
    assert "title: https 443" in visit.text and visit.last == "navigated"
    await visit.act("goto", url="https://other.example/?q=1")
    assert visit.seen.data["url"] == "https://other.example/?q=1"
    told = [(one.method, one.url, one.status) for one in visit.surface.audit().requests[1:]]
    assert told == [
        ("GET", "https://pages.example/", 200),
        ("POST", "https://pages.example/in", 303),
        ("GET", "https://pages.example/", 200),
        ("GET", "https://other.example/?q=1", 200),
    ]
    # A fork comes back to the same page, by https: again.
    saved = await visit.surface.save()
    again = await browse(visit.web, load=saved)
    assert again.seen.data["url"] == "https://other.example/?q=1"


async def test_keys_hover_drag_and_scrolling(browse):
    visit = await browse("""<style>#box {height:100px;overflow:auto} .t {height:40px}</style>
<input aria-label="Find" onkeydown="document.title = (event.ctrlKey ? 'ctrl+' : '') + event.key">
<div tabindex="0" role="button" onmouseenter="this.textContent='over'">zone</div>
<div id="box"><div style="height:900px"></div><button>Low</button></div>
<div class="t" draggable="true" aria-label="Card"
  ondragstart="event.dataTransfer.setData('text','card')">Card</div>
<div class="t" role="group" aria-label="Bin" tabindex="0" ondragover="event.preventDefault()"
  ondrop="event.preventDefault();
  document.title = 'dropped ' + event.dataTransfer.getData('text')">Bin</div>""")
    await visit.act("press", ref=visit.ref("textbox", "Find"), keys="ctrl+k")
    assert "title: ctrl+k" in visit.text
    assert (await visit.act("press", keys="Hyper+Nonsense")).effect is Effect.ERROR
    await visit.act("hover", ref=visit.ref("button", "zone"))
    assert visit.last == "changed" and "over" in visit.text
    box = next(n for n in visit.nodes if "scrolled" in n)
    await visit.act("scroll", ref=box["ref"], direction="down", amount=2)
    assert next(n for n in visit.nodes if "scrolled" in n)["scrolled"][0] == 200
    await visit.act(
        "drag", from_ref=visit.ref("clickable", "Card"), to_ref=visit.ref("group", "Bin")
    )
    assert "title: dropped card" in visit.text


async def test_coordinates_hit_what_lies_there(browse):
    visit = await browse(BUTTON)
    left, top, width, height = visit.node("button", "Go")["box"]
    await visit.act("click", x=left + width / 2, y=top + height / 2)
    assert "title: done" in visit.text
    for at in ({"x": -1, "y": 5}, {"x": 5, "y": 99_999}, {"x": 5}, {}):
        assert (await visit.act("click", **at)).effect is Effect.ERROR


async def test_downloads_are_listed_and_can_be_uploaded(browse):
    file = (
        200,
        [
            (b"content-type", b"text/csv"),
            (b"content-disposition", b'attachment; filename="../../a b.csv"'),
        ],
        b"x,y",
    )
    got = []
    visit = await browse(
        {
            "/": "<a href='/f'>Get</a><form method=post action=/u enctype=multipart/form-data>"
            "<input type=file name=f aria-label=File><button>Send</button></form>",
            "/f": file,
            "/u": lambda scope, body: got.append(body) or "<p>ok",
        }
    )
    await visit.click("link", "Get")
    (listed,) = visit.seen.data["downloads"]
    assert listed["bytes"] == 3 and "/" not in listed["name"]
    assert visit.last == "changed"
    ref = visit.ref("file", "File")
    await visit.act("upload", ref=ref, files=[{"name": "nothing.csv"}])
    assert visit.seen.effect is Effect.ERROR
    await visit.act("upload", ref=ref, files=[{"name": listed["name"]}])
    await visit.click("button", "Send")
    assert b"x,y" in got[0]


async def test_the_text_of_a_page_and_its_pictures(browse):
    visit = await browse(
        "<h1>Head</h1><p>One <b>two</b></p><ul><li>Three</ul>"
        "<table><tr><td>a<td>b</table><button>Go</button>",
        width=400,
        height=300,
    )
    text = (await visit.act("read_page")).text
    assert "# Head" in text and "One two" in text and "- Three" in text and "a\tb" in text
    plain = (await visit.act("screenshot")).image
    marked = (await visit.act("screenshot", marks=True)).image
    assert plain.shape == marked.shape == (300, 400, 3)
    assert (plain != marked).any()


async def test_a_tree_can_be_told_by_its_changes(browse):
    visit = await browse(
        {
            "/": "<p>Same</p><button onclick='this.textContent = `Done`'>Go</button>"
            "<a href=/b>B</a>",
            "/b": "<p>Other",
        },
        diff=True,
    )
    assert 'text "Same"' in visit.text
    await visit.click("button", "Go")
    assert "- " in visit.text and '"Done" focused' in visit.text and "Same" not in visit.text
    await visit.act("wait", seconds=0)
    assert "(nothing)" in visit.text
    await visit.click("link", "B")
    assert 'text "Other"' in visit.text


async def test_what_lies_at_a_point_is_scrolled(browse):
    visit = await browse(
        "<div style='height:150px;overflow:auto'><div style='height:900px'></div>low</div>"
    )
    await visit.act("scroll", x=50, y=50, direction="down", amount=0.2)
    assert visit.node("scrollable")["scrolled"][0] > 50 and visit.last == "changed"


async def test_errors_of_pages_are_told_once(browse):
    visit = await browse("<button onclick='console.error(`red`); missing()'>Fail</button>")
    await visit.click("button", "Fail")
    assert "console: red" in visit.text and "missing is not defined" in visit.text
    await visit.act("wait", seconds=0)
    assert "console:" not in visit.text and visit.last == "no_change"


async def test_a_saved_page_comes_back_in_another_context(browse):
    pages = {
        "/": FORM + "<script>document.cookie = 'a=1'; localStorage.k = 'local'; "
        "sessionStorage.k ||= 'tab'</script>",
        "/b": "<title>B</title><div style='height:3000px'></div><button>Low</button>",
    }
    visit = await browse(pages)
    await visit.act("type", ref=visit.ref("textbox", "Name"), text="Dora")
    await visit.act("select", ref=visit.ref("listbox", "Tags"), values=["red", "blue"])
    await visit.click("checkbox", "Gift")
    await visit.act("tab_new", url="/b")
    await visit.act("scroll", direction="down")
    state = json.loads(json.dumps(await visit.surface.save()))
    asked = len(visit.web.asked)
    other = await browse(visit.web, load=state)
    assert {m for m, _, _ in visit.web.asked[asked:]} == {"GET"}
    assert other.surface.audit().requests == ()
    for both in (visit, other):
        await both.act("tab_switch", tab=1)
    assert other.text.replace("last: no_change", "last: changed") == visit.text
    assert await other.surface.save() == await visit.surface.save()


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("<button onclick='this.textContent = 1'>Go</button>", "does not come back as it was"),
        ("<form method=post><button>Go</button></form>", "does not come back as it was"),
        ("<button onclick='alert(1)'>Go</button>", "a dialog is open"),
    ],
)
async def test_a_page_that_cannot_be_restored_says_so(browse, page, why):
    posts = WebPages({"/": lambda scope, body: f"<p>{scope['method']}{page}"})
    visit = await browse(posts)
    await visit.click("button", "Go")
    with pytest.raises(UnsupportedError, match=f"surface 'browser'.*{why}"):
        await browse(posts, load=await visit.surface.save())


async def test_a_closed_surface_says_so(browse):
    visit = await browse(BUTTON)
    await visit.surface.close()
    with pytest.raises(SurfaceError, match="closed"):
        await visit.surface.call(Action("click", {"ref": 1}))


async def test_work_after_the_click_is_waited_for(browse):
    async def slow(scope, body):
        await asyncio.sleep(0.4)
        return "late answer"

    visit = await browse(
        {
            "/": "<p id=p></p><button onclick=\"fetch('/slow').then((r) => r.text())"
            '.then((t) => { p.textContent = t; })">Load</button>',
            "/slow": slow,
        }
    )
    await visit.click("button", "Load")
    assert "late answer" in visit.text and visit.last == "changed"


@pytest.mark.parametrize(
    "page",
    [
        "<input type=checkbox id=k style='all:unset;position:fixed;inset:40px 0 0;background:red'>"
        "<style>#k:checked { background: lime !important }</style><button>Go</button><script>"
        "document.querySelector('button').onclick = () =>"
        " setTimeout(() => fetch('/slow').then(() => k.checked = true), 5)</script>",
        "<iframe src=/inner style='border:0;position:fixed;inset:40px 0 0 0;width:100%'></iframe>"
        "<button onclick='frames[0].go()'>Go</button>",
    ],
)
async def test_a_picture_is_as_new_as_the_answer_that_a_step_waits_for(browse, page):
    async def slow(scope, body):
        await asyncio.sleep(0.3)
        return "late"

    inner = (
        "<body style='background:red'><script>function go() { setTimeout(() => fetch('/slow')"
        ".then(() => document.body.style.background = 'lime'), 5) }</script>"
    )
    pages = {"/": page, "/slow": slow, "/inner": inner}
    visit = await browse(pages, screenshot=True, width=400, height=300)
    assert tuple(visit.seen.image[100, 100] > 200) == (True, False, False)
    await visit.click("button", "Go")
    assert tuple(visit.seen.image[100, 100] > 200) == (False, True, False)


async def test_an_element_that_comes_back_keeps_its_reference(browse):
    async def slow(scope, body):
        await asyncio.sleep(0.2)
        return "done"

    page = """<div id=list><button onclick="document.title += ' paid'">Pay</button>
    <button>Other</button></div><button id=load>Load</button><script>
    load.onclick = async () => {
      const kept = [...list.childNodes];
      list.replaceChildren("wait");
      await fetch("/slow");
      list.replaceChildren(...kept);
    }</script>"""
    visit = await browse({"/": page, "/slow": slow})
    reference = visit.ref("button", "Pay")
    for _ in range(2):
        await visit.click("button", "Load")
        assert visit.ref("button", "Pay") == reference
        await visit.click("button", "Pay")
        assert visit.last == "changed", visit.text
    assert "paid paid" in visit.text


async def test_the_values_of_a_page_too_deep_to_be_read_are_known(browse):
    page = """<button id=b>Dig</button><script>var dug = false; b.onclick = () => {
      let at = document.body;
      for (let n = 0; n < 2500; n++) at = at.appendChild(document.createElement("div"));
      at.textContent = "bottom"; dug = true; }</script>"""
    visit = await browse(page, init="0", state={"dug": "dug"})
    assert visit.surface.audit().page_state == {"dug": False}
    await visit.click("button", "Dig")
    assert "no tree: RangeError" in visit.text, visit.text
    assert visit.surface.audit().page_state == {"dug": True}


async def test_odd_addresses_and_files_are_refused(browse):
    visit = await browse("<input type=file aria-label=File>")
    await visit.act("goto", url="http://[::1")
    assert "is no address" in visit.text and "tree:" in visit.text
    ref = visit.ref("file", "File")
    await visit.act("upload", ref=ref, files=[{"name": "ü" * 130, "text": "x"}])
    assert "has more than 255 bytes" in visit.text
    await visit.act("upload", ref=ref, files=[{"name": "a", "text": "\ud800"}])
    assert "changed" in visit.text or "no_change" in visit.text
