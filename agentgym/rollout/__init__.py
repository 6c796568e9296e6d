"""One episode with one agent: run it, resume it, verify its record, branch off it."""
