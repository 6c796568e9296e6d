# Runs once, as root, before the agent comes; every episode then starts from what it left.
# It must leave the same bytes every time: no clock, no $RANDOM.
set -eu
shop=$PARAM_SHOP seed=$PARAM_SEED
mkdir -p /srv/shop
awk -v seed="$seed" 'BEGIN {
  split("north south harbour hill", shops, " ")
  print "day,shop,cents"
  for (sale = 0; sale < 90; sale++) {
    seed = (seed * 1103 + 12345) % 65536
    printf "2026-03-%02d,%s,%d\n", 1 + sale / 3, shops[1 + int(seed / 7) % 4], 100 + seed % 4900
  }
}' > /srv/shop/sales.csv

# What lies in $AGENTGYM_GOLD goes to the checks, and is never in the computer that the agent gets.
awk -F, -v shop="$shop" '$2 == shop { total += $3 } END { print total }' /srv/shop/sales.csv > "$AGENTGYM_GOLD/total"
awk -F, -v shop="$shop" '$2 == shop { count += 1 } END { print count }' /srv/shop/sales.csv > "$AGENTGYM_GOLD/count"
