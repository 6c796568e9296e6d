"""Write an excerpt of usage data with everything in it that a rewrite may get wrong."""

from __future__ import annotations

import os
import random
from pathlib import Path

BILLING = Path("/srv/billing")
PLANS = ("basic", "plus", "pro", "scale", "flex", "legacy-a", "legacy-b", "trial")
REGIONS = ("eu-central", "eu-north", "us-east", "us-west", "ap-south", "sa-east")


def main() -> None:
    rng = random.Random(int(os.environ["PARAM_SEED"]))
    month = os.environ["PARAM_MONTH"]
    plans, regions = rng.sample(PLANS, 4), rng.sample(REGIONS, 3)
    priced = {(plan, region): rng.randint(3, 900) for plan in plans for region in regions}
    unpriced = rng.choice(sorted(priced))
    accounts = [f"K{number}" for number in sorted(rng.sample(range(10_000, 99_999), 40))]

    rates = [f"{p} {r} {price}" for (p, r), price in priced.items() if (p, r) != unpriced]
    (BILLING / "lib/rates.tab").write_text("\n".join(rates) + "\n")
    rows: list[str] = []
    for _ in range(620):
        if rows and rng.random() < 0.08:  # delivered again, sometimes corrected meanwhile
            event, account, plan, region, units = rng.choice(rows).split(",")
            units = rng.choice([units, str(int(units) + 7)])
        else:
            event, account = f"ev-{rng.getrandbits(40):010x}", rng.choice(accounts)
            plan, region = rng.choice(sorted(priced))
            units = str(rng.choice([rng.randint(0, 900), rng.randint(0, 400_000)]))
            if rng.random() < 0.06:  # a credit: rounds towards zero, not down
                units = f"-{rng.randint(1, 5_000)}"
        rows.append(f"{event},{account},{plan},{region},{units}")
    lines = ["event_id,account,plan,region,units", *rows]
    lines[200:200] = ["", f"# collector restarted on {month}-14", ""]
    # No newline at the end: the collector is still writing when the file is cut.
    (BILLING / f"data/usage-{month}.csv").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
