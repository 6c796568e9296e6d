"""Policies for pages with fields to fill."""

from __future__ import annotations

import re

from .base import click, click_ref, enter, press, quoted, submit, task, texts, wait


def text(view):
    yield enter(view, view.find("textbox"), quoted(view)[0])
    yield submit(view)


def text_in_case(view):
    word = quoted(view)[0]
    yield enter(view, view.find("textbox"), word.upper() if "upper" in task(view) else word.lower())
    yield submit(view)


def password(view):
    for field in view.find_all("textbox"):
        yield enter(view, field, quoted(view)[0])
    yield submit(view)


def login(view):
    for field, word in zip(view.find_all("textbox"), quoted(view), strict=True):
        yield enter(view, field, word)
    yield submit(view, "Login")


def login_popup(view):
    words = quoted(view)
    for place in range(2):
        for _ in range(3):
            cancel = [n for n in view.nodes if "cancel" in n["name"].lower() and n.get("ref")]
            if cancel:
                yield click_ref(view, cancel[0])
            fields = view.find_all("textbox")
            if fields[place].get("value") == words[place]:
                break
            yield enter(view, fields[place], words[place])
    yield click(view, "button", re.compile("OK|Login"))


def date(view):
    month, day, year = re.search(r"(\d+)/(\d+)/(\d+)", task(view)).groups()
    yield enter(view, view.find("date"), f"{year}-{month:0>2}-{day:0>2}")
    yield submit(view)


def time(view):
    hour, minute, half = re.search(r"(\d+):(\d+) ?([AP]M)", task(view)).groups()
    number = int(hour) % 12 + (12 if half == "PM" else 0)
    yield enter(view, view.find("time"), f"{number:02}:{minute}")
    yield submit(view)


def copy(view):
    fields = view.find_all("textbox")
    source = next(field for field in fields if field["value"])
    target = next(field for field in fields if not field["value"])
    yield enter(view, target, source["value"])
    yield submit(view)


def copy_one(view):
    fields = view.find_all("textbox")
    place = int(re.search(r"(\d)(st|nd|rd|th)", task(view))[1]) - 1
    yield enter(view, fields[-1], fields[place]["value"])
    yield submit(view)


def word(view):
    place = int(re.search(r"(\d+)(st|nd|rd|th)", task(view))[1]) - 1
    words = " ".join(texts(view)).split()
    yield enter(view, view.find("textbox"), words[place].strip(".,"))
    yield submit(view)


def distorted(view):
    yield enter(view, view.find("textbox"), "".join(texts(view)).replace(" ", ""))
    yield submit(view)


def scrolled(view):
    way = "down" if "bottom" in task(view) else "up"
    yield view.act("scroll", ref=view.find("textbox")["ref"], direction=way, amount=50)
    yield submit(view)


def arithmetic(view):
    left, sign, right = re.search(r"(-?\d+) *([x+/-]) *(-?\d+)", " ".join(texts(view))).groups()
    a, b = int(left), int(right)
    yield enter(view, view.find("textbox"), str({"x": a * b, "+": a + b, "-": a - b}[sign]))
    yield submit(view)


def algebra(view):
    found = re.search(r"(x|-?\d+) *([+-]) *(x|-?\d+) *= *(-?\d+)", " ".join(texts(view)))
    left, sign, right, total = found.groups()
    result = int(total)
    if left == "x":
        x = result - int(right) if sign == "+" else result + int(right)
    else:
        x = result - int(left) if sign == "+" else int(left) - result
    yield enter(view, view.find("textbox"), str(x))
    yield submit(view)


def guess(view):
    low, high = 0, 9
    while True:
        number = (low + high) // 2
        yield enter(view, view.find("spinbutton"), str(number))
        yield submit(view)
        said = " ".join(texts(view))
        if "higher" in said:
            low = number + 1
        elif "lower" in said:
            high = number - 1
        else:
            return


def generate(view):
    text = task(view)
    for _ in range(50):
        yield click(view, "button", "Generate")
        number = int(next(t for t in texts(view) if re.fullmatch(r"-?\d+", t)))
        bounds = [int(n) for n in re.findall(r"-?\d+", text)]
        if (
            number % 2 == 1
            if " odd " in text
            else number % 2 == 0
            if " even " in text
            else min(bounds) <= number <= max(bounds)
            if "between" in text
            else number > bounds[0]
            if "greater" in text
            else number < bounds[0]
        ):
            break
    yield submit(view)


def autocomplete(view):
    start, *rest = quoted(view)
    yield enter(view, view.find("textbox"), start)
    yield from choose_suggestion(view, start, rest[0] if rest else "")
    yield submit(view)


def choose_suggestion(view, start: str, end: str):
    """Wait for the suggestions, and click the one with this beginning and end."""
    for _ in range(20):
        for node in view.find_all("clickable"):
            name = node["name"]
            if name.startswith(start) and name.endswith(end):
                yield click_ref(view, node)
                return
        yield wait(view)


def spinner(view):
    number = re.search(r"Select (-?\d+)", task(view))[1]
    yield click(view, "spinbutton")
    key = "ArrowUp" if int(number) > 0 else "ArrowDown"
    yield press(view, " ".join([key] * abs(int(number))))
    yield submit(view)


def slider(view):
    wanted = int(re.search(r"Select (-?\d+)", task(view))[1])
    yield from slide(view, 0, wanted)
    yield submit(view)


def sliders(view):
    wanted = [int(n) for n in re.search(r"\[(.*)\]", task(view))[1].split(",")]
    for place, number in enumerate(wanted):
        yield from slide(view, place, number)
    yield submit(view)


def slide(view, place: int, wanted: int):
    handle = view.find_all("clickable")[place]
    yield click_ref(view, handle)
    for _ in range(60):
        now = int(texts(view)[place])
        if now == wanted:
            return
        keys = ["ArrowRight" if now < wanted else "ArrowLeft"] * abs(wanted - now)
        yield press(view, " ".join(keys))


def form(view):
    wanted = int(re.search(r"Select (-?\d+)", task(view))[1])
    place = int(re.search(r"(\d)(st|nd|rd) checkbox", task(view))[1]) - 1
    yield from slide(view, 0, wanted)
    yield click(view, "checkbox", None, place)
    yield submit(view)


def form_of_radios(view):
    radio, box = (int(n) - 1 for n in re.findall(r"(\d)(?:st|nd|rd)", task(view)))
    yield click(view, "radio", None, radio)
    yield enter(view, view.find_all("textbox")[box], quoted(view)[0])
    yield submit(view)


def table(view) -> dict[str, str]:
    cells = [n["name"] for n in view.find_all("cell")]
    return dict(zip(cells[::2], cells[1::2], strict=False))


def read(view):
    label = re.search(r"value of (.+?) into", task(view))[1].strip()
    yield enter(view, view.find("textbox"), table(view)[label])
    yield submit(view)


def read_two(view):
    labels = [t.strip().rstrip(":") for t in texts(view) if t.strip().endswith(":")]
    values = table(view)
    for field, label in zip(view.find_all("textbox"), labels, strict=True):
        yield enter(view, field, values[label])
    yield submit(view)
