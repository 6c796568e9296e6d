"""State machines with nested states and timers."""

from latch.chart import Chart, ChartError
from latch.machine import Event, Machine
from latch.reader import read_chart

__all__ = ["Chart", "ChartError", "Event", "Machine", "read_chart"]
