"""Known cases of checks and texts, and the rates of false verdicts over them."""
