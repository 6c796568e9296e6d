"""Works through the open tickets of a company in the pages of the help desk and of the forms."""

DESK = "http://tickets.office.example"
FORMS = "http://forms.office.example"


def solve(view):
    yield view.goto(f"{DESK}/customers?name=Bluewater")
    customers = [
        next(n["url"] for n in row if n["role"] == "link").rsplit("/", 1)[-1]
        for row in view.rows("Bluewater")
    ]
    waiting = {}
    for customer in customers:
        yield view.goto(f"{DESK}/?customer={customer}&status=open")
        names = [n["name"] for n in view.find_all("columnheader")]
        for row in view.rows("open"):
            cells = [n["name"] for n in row if n["role"] == "cell"]
            if len(cells) == len(names):
                waiting[cells[0]] = dict(zip(names, cells, strict=True))
    for number, ticket in sorted(waiting.items(), key=lambda item: int(item[0])):
        yield view.goto(f"{DESK}/ticket/{number}")
        if ticket["Assigned to"] == "–":
            bo = next(n["name"] for n in view.find_all("option") if n["name"].startswith("Bo "))
            yield view.choose("Assign to", bo)
            yield view.click("button", "Assign")
        if ticket["Priority"] in ("low", "normal"):
            yield view.click("link", "Edit")
            yield view.choose("Priority", "High")
            yield view.click("button", "Save changes")
        entered = f"ticket={number}&f-who=Katrin+Teixeira&f-what=an+answer&f-until=2026-03-04"
        yield view.goto(f"{FORMS}/form/customer-promise?{entered}")
        yield view.click("button", "Post")
    yield view.act("submit", tickets=sorted(waiting, key=int))
