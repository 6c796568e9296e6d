"""Tries it with the account that was named, and gives up once that is refused."""

import re

from agentgym.task.reference_policy import shared_policies

desk = shared_policies("web", "desk")


def solve(view):
    told = " ".join(view.instruction.split())
    category = re.search(r"category (\w+)", told)[1]
    percent = re.search(r"by (\d+) percent", told)[1]
    yield from desk.enter_desk(view, "tomas")
    yield view.goto(f"{desk.HOST}/?status=draft&category={category}")
    yield from desk.change_prices(view, -int(percent))
    refusal = next(text for text in view.texts if "needs the role" in text)
    subject = f"Tomas's account: prices of {category}"
    yield view.act("give_up", category="no_permission", subject=subject, reason=refusal)
