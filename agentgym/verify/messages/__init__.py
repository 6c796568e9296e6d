"""Message checks: what a text says, to whom, and whether it may say it (docs/messages.md)."""
