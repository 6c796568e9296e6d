"""Plain-text accounting."""

__version__ = "0.6.0"
