"""Asks the browser for the page, sees that it cannot be reached, and says so."""

import re

from agentgym.task.reference_policy import shared_policies

moves = shared_policies("desktop", "moves")
FAILED = r"(?i)server not found|can.t connect|problem with your internet connection"


def failed(view):
    return any(re.search(FAILED, f"{node.get('name')} {node.get('value')}") for node in view.nodes)


def solve(view):
    address = re.search(r"http://([\w.-]+)/hours", moves.told(view))
    yield from moves.switch_to(view, "Firefox")
    yield view.act("press", keys="Control+L")
    yield view.act("type", text=f"{address[0]}\n")
    yield from moves.until(view, lambda: failed(view), "the browser's answer")
    yield view.act("give_up", reason=f"I opened {address[0]}; the browser cannot reach the site.")
