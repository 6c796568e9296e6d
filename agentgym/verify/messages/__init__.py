"""Messages by meaning: what a text says, to whom, and whether it may say it (docs/messages.md)."""
