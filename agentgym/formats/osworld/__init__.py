"""Tasks of OSWorld: their JSON, set-up steps, getters, metrics, and the import of a checkout."""

from typing import Final

SCHEMA: Final = "agentgym.osworld/1"
