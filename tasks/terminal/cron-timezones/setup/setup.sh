#!/bin/bash
set -euo pipefail
python3 "$AGENTGYM_SETUP/generate.py"
