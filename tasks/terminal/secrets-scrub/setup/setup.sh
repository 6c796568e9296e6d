#!/bin/bash
set -euo pipefail
export GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent
python3 "$AGENTGYM_SETUP/generate.py"
