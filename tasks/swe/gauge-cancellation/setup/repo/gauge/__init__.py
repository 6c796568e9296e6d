"""Statistics of values that come one by one and are not kept."""

from gauge.groups import Groups
from gauge.line import Line
from gauge.moments import Moments
from gauge.storage import load, save
from gauge.window import Window

__all__ = ["Groups", "Line", "Moments", "Window", "load", "save"]
