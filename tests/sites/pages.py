"""Reads pages as a browser does, for tests: links, forms and their present values."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx

from agentgym.services import Backend, find_services
from agentgym.sites.hosts import open_sites
from agentgym.sites.load import find_sites


class Page(HTMLParser):
    """The links, forms and ids of a page.

    Attributes:
        links: Addresses of its links.
        forms: Each form as its method, address, fields and the values of its buttons.
    """

    def __init__(self, response):
        super().__init__()
        self.response, self.url = response, str(response.url)
        self.links, self.forms, self.ids = [], [], []
        self.labels, self.controls = set(), []
        self._select = self._area = self._owner = None
        self._bare = False
        self.feed(response.text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(urljoin(self.url, given["href"]))
        elif tag == "form":
            action = urljoin(self.url, given.get("action") or self.url)
            self.forms.append({"method": given.get("method", "get"), "url": action})
            self.forms[-1] |= {"fields": {}, "buttons": [], "id": given.get("id")}
        elif tag == "label" and "for" in given:
            self.labels.add(given["for"])
        name = given.get("name")
        form = self._form(given)
        if tag in ("input", "select", "textarea") and given.get("type") != "hidden":
            self.controls.append(given)
        if tag == "option" and self._select:
            self._option(given)
        if form is None or not name:
            return
        if tag == "button":
            form["buttons"].append((name, given.get("value", "")))
        elif tag == "input" and given.get("type") == "file":
            form["fields"][name] = None
        elif tag == "input":
            ticked = given.get("type") not in ("checkbox", "radio") or "checked" in given
            form["fields"].setdefault(name, "")
            if ticked:
                form["fields"][name] = given.get("value", "on")
        elif tag == "select":
            self._select, self._owner = name, form
            form["fields"][name] = None
        elif tag == "textarea":
            self._area = name
            form["fields"][name] = ""

    def _option(self, given):
        # A browser chooses the first option if no other is marked.
        values = self._form({})["fields"] if not self._owner else self._owner["fields"]
        if "selected" in given or values[self._select] is None:
            values[self._select] = given.get("value")
            self._bare = "value" not in given

    def handle_data(self, data):
        if self._bare and self._select:
            (self._owner or self._form({}))["fields"][self._select] = data
            self._bare = False
        if self._area and self.forms:
            self.forms[-1]["fields"][self._area] += data.removeprefix("\n")

    def handle_endtag(self, tag):
        if tag == "select":
            self._select = None
        elif tag == "textarea":
            self._area = None

    def _form(self, given):
        if "form" in given:
            return next((f for f in self.forms if f["id"] == given["form"]), None)
        return self.forms[-1] if self.forms else None

    def form(self, address):
        """Return the form whose address ends so."""
        found = [form for form in self.forms if form["url"].split("?")[0].endswith(address)]
        assert found, f"no form for {address} on {self.url}: {[f['url'] for f in self.forms]}"
        return found[-1]


async def read(visitor, url):
    """Open a page."""
    response = await visitor.get(url)
    assert response.status_code == 200, f"{url}: {response.status_code}: {response.text[-800:]}"
    return Page(response)


async def send(visitor, page, address, **fields):
    """Fill in a form of a page and send it; fields that are not named keep their values."""
    form = page.form(address)
    unknown = fields.keys() - form["fields"].keys() - {name for name, _ in form["buttons"]}
    assert not unknown, f"{address} has no field {unknown}, but {list(form['fields'])}"
    values = {n: v for n, v in (form["fields"] | fields).items() if v is not None}
    if form["method"] == "post":
        return Page(await visitor.post(form["url"], data=values))
    return Page(await visitor.get(form["url"], params=values))


class World:
    """The services and sites of one episode, and somebody who visits them."""

    def __init__(self, env, domain, seed="tools/a:1"):
        services = find_services(env)
        self.domain = domain
        self.backend = Backend(services, services.template(1))
        sites = find_sites((f"{env}/*",))
        self.sites = open_sites(sites, services=self.backend, reader=self.backend, seed=seed)
        transport = httpx.ASGITransport(self.sites.application)
        self.visitor = httpx.AsyncClient(transport=transport, follow_redirects=True)

    async def read(self, host, path="/"):
        return await read(self.visitor, f"http://{host}{self.domain}{path}")

    async def send(self, page, address, **fields):
        return await send(self.visitor, page, address, **fields)

    def calls(self, tool):
        return [entry for entry in self.backend.audit if entry.tool == tool]

    def value(self, sql, *values):
        return self.backend.state.rows.value(sql, *values)

    async def crawl(self, begin):
        """Open every kind of page from an address on; return the kinds, and their forms."""
        waiting, seen, forms = [begin], set(), {}
        while waiting:
            url = waiting.pop(0)
            varying = "day|page|q|occurrence|before|sender|recipient|brand|colour|stars|author"
            kind = re.sub(rf"(?<=/user/)[^/?]+|\d+|[?&]({varying})=[^&]*", "#", url)
            if kind in seen or not url.startswith(begin) or url.endswith("/download"):
                continue
            seen.add(kind)
            if "export.csv" in url:
                continue
            page = await read(self.visitor, url)
            assert len(page.ids) == len(set(page.ids)), f"{url}: two elements have one id"
            for control in page.controls:
                named = control.get("aria-label") or control.get("id") in page.labels
                within = (
                    control.get("type") in ("checkbox", "radio") or control["name"] == "percent"
                )
                assert named or within, f"{url}: {control}"
            waiting += page.links
            for form in page.forms:
                forms.setdefault(re.sub(r"\d+", "#", form["url"]), form)
        return seen, forms

    async def send_nonsense(self, forms):
        """Send every form with empty, odd and long values; no answer may blame the site."""
        for form in forms:
            for text in ("", "' OR 1 --", "9" * 400, "<b>"):
                values = {n: v if n == "csrf" else text for n, v in form["fields"].items()}
                post = form["method"] == "post"
                do = self.visitor.post if post else self.visitor.get
                answer = await do(form["url"], **{"data" if post else "params": values})
                assert answer.status_code < 500, f"{form['url']} {text!r}: {answer.text[-600:]}"
        assert self.sites.application.failures == []

    async def close(self):
        await self.visitor.aclose()
        self.backend.close()
