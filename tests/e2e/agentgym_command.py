"""Where the console script is that an installation puts beside its Python."""

import sys
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("agentgym")
