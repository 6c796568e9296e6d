"""Episodes as `gymnasium.Env` and `gymnasium.vector.VectorEnv`, here or on a server."""
