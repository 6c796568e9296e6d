"""An in-process cache with lifetimes, tags and a size limit."""

from shelf.cache import Shelf

__all__ = ["Shelf"]
