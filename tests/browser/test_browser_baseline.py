"""The baseline of `agentgym bench web`: what Playwright alone takes for a page of the sites."""

from __future__ import annotations

from web_pages import WebPages

from agentgym.bench.playwright_baseline import measure_contexts
from agentgym.browser.engine import engine


async def test_each_fresh_context_loads_the_page_from_the_sites():
    web = WebPages("<title>Page</title>")
    times_ms = await engine().run(measure_contexts(web.context().sites, 300, 200, 2))
    assert len(times_ms) == 2 and all(time_ms > 1 for time_ms in times_ms)
    assert web.asked == [("GET", "/", b"")] * 3  # one of them to warm up
