"""The learning curve of a training run, drawn with characters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import plotext

from agentgym.train.training_run import Metrics

_COLUMNS, _ROWS = 80, 16
_CURVES: Final = {"pass_rate": "training", "evaluation_pass_rate": "held-out seeds"}


def draw_curve(history: Sequence[Metrics]) -> str:
    """Return the pass rates by iteration as text of 80 columns and 16 lines.

    Empty if no figure is known.
    """
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(_COLUMNS, _ROWS)
    plotext.ylim(0, 1)
    drawn = False
    for name, label in _CURVES.items():
        known = [each for each in history if math.isfinite(each.get(name) or 0.0)]
        points = [(each["iteration"], each[name]) for each in known if each.get(name) is not None]
        if points:
            drawn = True
            marker = "braille" if name == "pass_rate" else "●"
            plotext.plot(*zip(*points, strict=True), label=label, marker=marker)
    plotext.title("pass rate by iteration")
    return str(plotext.build()) if drawn else ""
