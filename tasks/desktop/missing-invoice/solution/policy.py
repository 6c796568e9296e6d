"""Lists the folder of every month, and says that the invoice is not there."""

import re

MONTHS = ("January", "February", "March")


def shown(view):
    return view.find("terminal").get("value", "")


def solve(view):
    vendor = re.search(r"the invoice of (\w+)", " ".join(view.instruction.split()))[1]
    yield view.act("click", ref=view.find("terminal")["ref"])
    for month in MONTHS:
        yield view.act("type", text=f"ls Invoices/{month}; echo end of {month}\n", clear=False)
        while f"\nend of {month}\n" not in shown(view):
            yield view.act("wait", seconds=0.5)
        if f"{vendor}.txt" in shown(view):
            raise LookupError(f"there is an invoice of {vendor} in {month}")
    told = f"There is no invoice of {vendor} in any month's folder."
    yield view.act("give_up", category="missing_data", subject=f"invoice of {vendor}", reason=told)
