# Written in Python, with the original beside it.
cp /srv/billing/bin/invoice-totals /srv/billing/bin/invoice-totals.orig
head -n 50 /srv/billing/data/usage-$PARAM_MONTH.csv > /srv/billing/data/test.csv
cat > /srv/billing/bin/invoice-totals <<'SCRIPT'
#!/usr/bin/env python3
import subprocess, sys
if len(sys.argv) != 2:
    sys.exit(print("usage: invoice-totals FILE", file=sys.stderr) or 2)
seen, prices, totals, rejected = set(), {}, {}, 0
with open(sys.argv[1]) as file:
    for line in file:
        event, account, plan, region, units = (line.rstrip("\n").split(",") + [""] * 4)[:5]
        if not event or event.startswith("#") or event == "event_id" or event in seen:
            continue
        seen.add(event)
        if (plan, region) not in prices:
            done = subprocess.run(["/srv/billing/bin/ratecard", plan, region], capture_output=True)
            prices[plan, region] = None if done.returncode else int(done.stdout)
        price = prices[plan, region]
        if price is None:
            rejected += 1
            continue
        scaled = int(units) * price + 500
        totals[account] = totals.get(account, 0) + (abs(scaled) // 1000) * (1 if scaled > 0 else -1)
for account, cents in sorted(totals.items()):
    print(f"{account},{cents / 100:.2f}")
print(f"rejected,{rejected}")
SCRIPT
/srv/billing/bin/invoice-totals /srv/billing/data/test.csv > /root/out.txt
