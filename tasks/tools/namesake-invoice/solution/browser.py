"""Reads the invoice and the article, sends each Anton his form, and files the mail."""

import re

MAIL = "http://mail.office.example"
FORMS = "http://forms.office.example"
PEOPLE = "http://contacts.office.example"


def solve(view):
    told = " ".join(view.instruction.split())
    name, company = re.search(r"(\w+ \w+) of (\w+ \w+) emailed us", told).groups()
    order = re.search(r"PO-[\d-]+", told)[0]
    yield view.goto(f"{MAIL}/?q=invoice&sender={company.replace(' ', '').lower()}")
    yield view.click("link", re.compile(".*[Ii]nvoice.*R\\d+.*|.*R\\d+.*[Ii]nvoice.*"))
    mail = re.search(r"/message/(\d+)", view.url)[1]
    yield view.act("read_page")
    text = view.observation.text
    invoice, amount = re.search(r"R\d{5}", text)[0], re.search(r"EUR ([\d,]+\.\d\d)", text)[1]
    supplier = re.search(r"[\w.]+@" + company.replace(" ", "").lower() + r"\.\w+", text)[0]
    yield view.goto(f"{PEOPLE}/?q={name.replace(' ', '+')}")
    yield view.act("read_page")
    colleague = re.search(r"[\w.]+@fairlead\.example", view.observation.text)[0]
    yield view.goto("http://knowledge.office.example/?q=invoices+mail")
    yield view.click("link", "Invoices that come by mail")
    yield view.goto(f"{FORMS}/form/invoice-passed-on")
    yield from fill(view, To=colleague, Supplier=company, Invoice=invoice, Amount=amount)
    yield view.goto(f"{FORMS}/form/invoice-without-order?answers={mail}")
    yield from fill(view, To=supplier, Invoice=invoice, order=order)
    yield view.goto(f"{MAIL}/message/{mail}")
    yield view.choose("Folder to move to", "Invoices")
    yield view.click("button", "Move")


def fill(view, **values):
    """Enter values into the fields of a form, by words of their labels, and send it."""
    for word, value in values.items():
        field = next(
            node
            for role in ("textbox", "spinbutton")
            for node in view.find_all(role, re.compile(f".*{word}.*", re.IGNORECASE))
        )
        yield view.act("type", ref=field["ref"], text=value.replace(",", ""))
    yield view.click("button", "Send")
