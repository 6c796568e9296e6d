"""Harbor's task folders (`task.toml`, schema 1.0 to 1.4), read as they are."""
