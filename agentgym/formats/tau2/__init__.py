"""tau2-bench: reads the domains of a checkout and judges them by that benchmark's own rules.

The rules are those of tau2-bench 1.0 (its `docs/evaluation.md` and evaluators); docs/tau2.md lists
those that are reproduced.
"""

from typing import Final

SCHEMA: Final = "agentgym.tau2/1"
"""Schema of a `task.toml` that points to a task of a checkout."""
