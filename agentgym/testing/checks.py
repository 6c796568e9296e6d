"""Evidence without a sandbox, for the tests of check packs and of a task's ``checks.py``."""

from agentgym.verify.memory_evidence import (
    Device,
    Entry,
    File,
    Folder,
    Link,
    MemoryTree,
    evidence,
    play_services,
    tree_changes,
)

__all__ = [
    "Device",
    "Entry",
    "File",
    "Folder",
    "Link",
    "MemoryTree",
    "evidence",
    "play_services",
    "tree_changes",
]
