#!/bin/bash
set -euo pipefail
mkdir -p /srv/intake/bin /srv/intake/drop /srv/intake/archive/brandt/2025
install -m 755 "$AGENTGYM_SETUP/file-drop" /srv/intake/bin/file-drop
cp "$AGENTGYM_SETUP/README.md" /srv/intake/README.md
cd /srv/intake
printf 'invoice 4411\n' > archive/brandt/2025/brandt_invoice.txt
printf 'brandt_invoice.txt\tbrandt/2025/brandt_invoice.txt\n' > archive/log.tsv
for name in 'brandt_invoice.txt' 'brandt_offer (final, really).txt' 'nordlicht_*.txt' 'nordlicht_a.txt' \
  '-n_list.txt' $'k8s-shop_two\nlines.txt' 'readme' '.brandt_upload.part'; do
  printf 'dropped: %s\n' "$name" > "drop/$name"
  touch -d 2026-02-03T07:00:00Z -- "drop/$name"
done
touch -d 2026-02-03T07:01:00Z archive/brandt/2025/brandt_invoice.txt archive/log.tsv
