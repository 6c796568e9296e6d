"""Reads the slip, types the sums into the calculator, and adds what it shows to the slip."""

import re

from agentgym.task.reference_policy import shared_policies

moves = shared_policies("desktop", "moves")


def solve(view):
    yield from moves.switch_to(view, "slip")
    slip = next(node["value"] for node in view.find_all("textbox") if "Cash count" in node["value"])
    counts = re.findall(r"(\d+) x +([\d.]+)", slip)
    coins, kept, report = (
        re.search(rf"{name}: ([\d.]+)", slip)[1]
        for name in ("Coins", "Float that stays", "Till report")
    )
    yield from moves.switch_to(view, "galculator")
    total = "+".join(f"{count}*{float(worth):g}" for count, worth in counts)
    # A digit is lost if it comes as fast as a machine types it.
    for key in f"{total}+{coins}=":
        yield view.act("type", text=key)
    counted = float(shown(view))
    short = counted - float(kept) - float(report)
    yield from moves.switch_to(view, "slip")
    yield view.act("press", keys="Control+End")
    yield view.act("type", text=f"Counted: {counted:.2f}\nDifference: {short:.2f}\n")
    yield view.act("press", keys="Control+S")
    yield from moves.until(view, lambda: not moves.focused_title(view).startswith("*"), "the save")


def shown(view):
    """Return what the calculator shows."""
    values = [str(node.get("value", "")).strip() for node in view.find_all("textbox")]
    return next(value for value in values if re.fullmatch(r"-?[\d.]+", value))
