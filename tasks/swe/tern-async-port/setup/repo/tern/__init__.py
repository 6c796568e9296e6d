"""Mirrors feeds."""

from tern.errors import Broken, Busy, Fatal, Missing, RequestError
from tern.mirror import Report, mirror
from tern.settings import Settings

__all__ = ["Broken", "Busy", "Fatal", "Missing", "Report", "RequestError", "Settings", "mirror"]
