"""Access to models: one OpenAI-compatible endpoint, for policies and for judges alike."""
