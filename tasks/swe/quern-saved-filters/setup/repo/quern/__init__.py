"""Filters for records that people can type."""

from quern.errors import FilterError
from quern.nodes import Filter, names
from quern.parser import parse
from quern.saved import Saved
from quern.simplify import simplify

__all__ = ["Filter", "FilterError", "Saved", "names", "parse", "simplify"]
