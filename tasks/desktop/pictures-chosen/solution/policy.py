"""Looks at one photograph after the other, and saves a copy of those with the right frame."""

import re

from agentgym.task.reference_policy import shared_policies

pictures = shared_policies("desktop", "pictures")

COUNT = 20
FOLDER = "/home/user/Report"
CHANNELS = {"red": 0, "green": 1, "blue": 2}
SHOWN = (slice(105, 725), slice(190, 1090))
LEAST = 220


def has_frame(view, colour):
    """Whether strokes in a colour go far both across and down."""
    shown = pictures.screen(view)[SHOWN]
    own = CHANNELS[colour]
    others = [shown[:, :, place] for place in range(3) if place != own]
    strokes = (shown[:, :, own] - others[0] > 36) & (shown[:, :, own] - others[1] > 36)
    down, across = strokes.sum(axis=1).nonzero()[0], strokes.sum(axis=0).nonzero()[0]
    return len(down) > 0 and min(down[-1] - down[0], across[-1] - across[0]) > LEAST


def solve(view):
    colour = re.search(r"frame in (\w+) drawn", pictures.told(view))[1]
    yield from pictures.window_comes(view, "Thunar$")
    yield view.act("press", keys="Down Home Return")
    found = 0
    for place in range(1, COUNT + 1):
        yield from pictures.window_comes(view, rf"\[{place}/{COUNT}\]$")
        # The bar below tells the size of a picture once it is loaded.
        name = re.escape(pictures.focused_title(view).split(" - ")[0])
        yield from pictures.element_comes(view, "statusbar", re.compile(rf"{name} \d+ x .*"))
        if has_frame(view, colour):
            found += 1
            yield from pictures.save_copy(view, f"{FOLDER}/decision-{found}.jpg")
        if place < COUNT:
            yield view.act("press", keys="Right")
