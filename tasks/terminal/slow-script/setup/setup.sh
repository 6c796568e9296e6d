#!/bin/bash
set -euo pipefail
mkdir -p /srv/billing/bin /srv/billing/data /srv/billing/lib /var/log/ratecard
install -m 755 "$AGENTGYM_SETUP/invoice-totals" "$AGENTGYM_SETUP/ratecard" /srv/billing/bin/
: > /var/log/ratecard/calls.log
python3 "$AGENTGYM_SETUP/generate.py"
