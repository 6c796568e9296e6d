"""Classic terminal-bench folders (`task.yaml`, one container), read as they are."""
