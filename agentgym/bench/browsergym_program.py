"""Measures BrowserGym in its own Python: resets and steps of one task of MiniWoB++.

It runs as a program, with the standard library and BrowserGym, and prints one line of JSON. All
browsers of BrowserGym are the given program, as its own need not be installed.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from typing import Any

_SEED = 7


def _use_browser(path: str) -> None:
    """Have every browser that Playwright starts be this program."""
    browser_type: Any = importlib.import_module("playwright.sync_api").BrowserType
    launch = browser_type.launch

    def launched(self: Any, **given: Any) -> Any:
        return launch(self, **{"executable_path": path, **given})

    browser_type.launch = launched


def _times(page: str, browser: str, resets: int, steps: int, **options: Any) -> dict[str, Any]:
    """Return the milliseconds of resets and of steps, each a click on a checkbox."""
    _use_browser(browser)
    gymnasium: Any = importlib.import_module("gymnasium")
    importlib.import_module("browsergym.miniwob")
    task_options = {"base_url": page.rsplit("/", 1)[0] + "/"}
    name = page.rsplit("/", 1)[1].removesuffix(".html")
    env = gymnasium.make(
        f"browsergym/miniwob.{name}", disable_env_checker=True, task_kwargs=task_options, **options
    )
    reset_ms, step_ms = [], []
    for _ in range(resets + 1):
        began = time.perf_counter()
        seen, _ = env.reset(seed=_SEED)
        reset_ms.append(1e3 * (time.perf_counter() - began))
    boxes = [
        node["browsergym_id"]
        for node in seen["axtree_object"]["nodes"]
        if node["role"]["value"] == "checkbox"
    ]
    for number in range(steps + 1):
        began = time.perf_counter()
        seen, *_ = env.step(f"click('{boxes[number % len(boxes)]}')")
        step_ms.append(1e3 * (time.perf_counter() - began))
        if seen["last_action_error"]:
            raise RuntimeError(seen["last_action_error"])
    env.close()
    # The first ones start what all others share.
    return {"reset_ms": reset_ms[1:], "step_ms": step_ms[1:]}


def main(page: str, browser: str, resets: str, steps: str, waits: str) -> None:
    """Print the measurements; `waits` is ``defaults`` or ``none``."""
    options: dict[str, Any] = {}
    if waits == "none":
        options = {"slow_mo": 0, "pre_observation_delay": 0.0}
    found = _times(page, browser, int(resets), int(steps), **options)
    version = importlib.import_module("importlib.metadata").version("browsergym-core")
    print(json.dumps({**found, "version": re.sub(r"[^0-9.]", "", version)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
