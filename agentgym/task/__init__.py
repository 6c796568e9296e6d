"""Task folders: reading and validating them, drawing instances, preparing their snapshots."""
