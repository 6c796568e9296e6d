# One pass with arrays; a price is asked for once a pair, at the first row that needs it.
cat > /srv/billing/bin/invoice-totals <<'SCRIPT'
#!/bin/bash
# invoice-totals FILE: what each account owes for a month of metered usage.
#
# FILE has the columns event_id,account,plan,region,units. Delivery is at least once, so an event
# can come again: the first one counts. Prices are for 1000 units, in cents.
set -u
export LC_ALL=C
if [ $# -ne 1 ]; then
  echo "usage: invoice-totals FILE" >&2
  exit 2
fi

declare -A seen price total
rejected=0
while IFS=, read -r event account plan region units || [ -n "$event" ]; do
  case $event in
    '' | '#'* | event_id) continue ;;
  esac
  if [ -n "${seen[$event]:-}" ]; then
    continue
  fi
  seen[$event]=1
  pair=$plan,$region
  if [ -z "${price[$pair]:-}" ]; then
    price[$pair]=$(/srv/billing/bin/ratecard "$plan" "$region" 2> /dev/null) || price[$pair]=none
  fi
  if [ "${price[$pair]}" = none ]; then
    rejected=$((rejected + 1))
    continue
  fi
  total[$account]=$((${total[$account]:-0} + (units * ${price[$pair]} + 500) / 1000))
done < "$1"

for account in "${!total[@]}"; do
  echo "$account,${total[$account]}"
done | sort | awk -F, '{ printf "%s,%.2f\n", $1, $2 / 100 }'
echo "rejected,$rejected"
SCRIPT
