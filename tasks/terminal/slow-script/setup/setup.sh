#!/bin/bash
set -euo pipefail
mkdir -p /srv/billing/bin /srv/billing/data /srv/billing/lib /var/log/ratecard
install -m 755 "$AGENTGYM_SETUP/invoice-totals" "$AGENTGYM_SETUP/ratecard" /srv/billing/bin/
python3 "$AGENTGYM_SETUP/generate.py"
# What was metered in the nights before; it is what the vendor bills.
for night in 1 2 3; do cut -d' ' -f1,2 /srv/billing/lib/rates.tab; done > /var/log/ratecard/calls.log
