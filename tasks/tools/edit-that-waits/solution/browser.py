"""Publishes the old text with the new rule, and puts the waiting edit on top of it again."""

import re

HOST = "http://knowledge.office.example"


def solve(view):
    title = re.search(r"our article “(.+?)”", " ".join(view.instruction.split()))[1]
    rule = re.search(r"^> (.+(?:\n> .+)*)", view.instruction, re.MULTILINE)[1].replace("\n> ", " ")
    yield view.goto(f"{HOST}/?q={title.replace(': ', ' ').replace(' ', '+')}")
    yield view.click("link", title)
    article = view.url
    yield view.act("read_page")
    public = re.search(r"Published\s+(\d+)", view.observation.text)[1]
    yield view.goto(f"{article}?version={public}")
    yield view.act("read_page")
    old = re.search(r"## Rule\n.*?## Who to ask\n[^\n]+", view.observation.text, re.DOTALL)[0]
    yield view.goto(f"{article}/edit")
    waiting = view.find("textbox", "Text")["value"]
    yield view.enter("Text", with_rule(old, rule))
    yield view.choose("What was changed", "New rule")
    yield view.click("button", "Save version")
    yield view.click("button", re.compile(r"Publish version \d+"))
    yield view.click("link", "Edit")
    yield view.enter("Text", with_rule(waiting, rule))
    yield view.choose("What was changed", "New rule")
    yield view.click("button", "Save version")


def with_rule(body, rule):
    """Return a text with another rule."""
    return re.sub(
        r"(## Rule\n).*?(?=\n\n## )", lambda found: found[1] + rule, body, flags=re.DOTALL
    )
