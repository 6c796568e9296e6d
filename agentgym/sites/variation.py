"""Variation of a site by the episode's seed: appearance, wording, order and layout.

A policy that has memorised one page does not know the next one. Every choice depends on the seed
and on a key, so a new choice on a page leaves the other choices as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a site, as CSS writes them."""

    accent: str
    on_accent: str
    page: str
    panel: str
    text: str
    muted: str
    line: str


_PALETTES: Final = (
    Palette("#2458d3", "#ffffff", "#f4f6fb", "#ffffff", "#1c2433", "#5b6678", "#d9dfeb"),
    Palette("#0f766e", "#ffffff", "#f2f7f6", "#ffffff", "#17302d", "#557370", "#d3e4e1"),
    Palette("#7c3aed", "#ffffff", "#f7f5fc", "#ffffff", "#251a3a", "#6a5f80", "#e2dbf0"),
    Palette("#b4421e", "#ffffff", "#fbf6f2", "#fffdfb", "#33221b", "#7b665b", "#eaddd3"),
    Palette("#1f7a37", "#ffffff", "#f4f8f2", "#ffffff", "#1b2b1c", "#5d705f", "#d9e6d6"),
    Palette("#b0256a", "#ffffff", "#fcf5f8", "#ffffff", "#33182a", "#7c5c6d", "#f0dae5"),
    Palette("#34568b", "#ffffff", "#f3f4f6", "#ffffff", "#16191f", "#5f6672", "#d8dbe1"),
    Palette("#8ab4ff", "#0d1424", "#12161f", "#1b212d", "#e8ecf4", "#a3adbf", "#323b4d"),
    Palette("#5eead4", "#06251f", "#0f1a1c", "#172528", "#e4f1ef", "#9bb5b1", "#2c4145"),
)

_FONTS: Final = (
    "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
    "'Helvetica Neue', Arial, 'Liberation Sans', sans-serif",
    "Georgia, 'Times New Roman', 'Liberation Serif', serif",
    "Verdana, 'DejaVu Sans', sans-serif",
)


class Variation:
    """The choices of one site in one episode.

    Args:
        seed: Text that all choices depend on.

    Example:
        >>> Variation("7:mail").pick("send", ["Send", "Send message"])
        'Send'
        >>> Variation("7:mail").order("columns", ["from", "subject", "date"])
        ['subject', 'date', 'from']
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed

    def number(self, key: str, below: int) -> int:
        """Return a number from 0 up to, but not including, `below`."""
        digest = hashlib.sha256(f"{self._seed}\0{key}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % below

    def pick(self, key: str, options: Sequence[T]) -> T:
        """Return one of some options."""
        return options[self.number(key, len(options))]

    def chance(self, key: str, percent: int = 50) -> bool:
        """Return True for so many percent of the seeds."""
        return self.number(key, 100) < percent

    def order(self, key: str, items: Sequence[T]) -> list[T]:
        """Return the items in an order of this seed."""
        numbered = sorted(
            range(len(items)), key=lambda place: self.number(f"{key}\0{place}", 2**60)
        )
        return [items[place] for place in numbered]

    @property
    def palette(self) -> Palette:
        """The colours."""
        return self.pick("palette", _PALETTES)

    @property
    def font(self) -> str:
        """Font families, as CSS lists them."""
        return self.pick("font", _FONTS)

    @property
    def corner_px(self) -> int:
        """Radius of corners."""
        return self.pick("corner", (0, 4, 8, 12))

    @property
    def gap_px(self) -> int:
        """Distance between the rows of a list, above and below."""
        return self.pick("gap", (5, 8, 11))

    @property
    def has_side_menu(self) -> bool:
        """Whether the menu stands at the side instead of the top."""
        return self.chance("menu", 60)
