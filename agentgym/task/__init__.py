"""Task folders: reads and validates them, draws instances, and prepares their snapshots."""
