"""Policies for the mail pages, and for those of a social network."""

from __future__ import annotations

import re

from .base import click_ref, enter, quoted, task

REPLY, FORWARD, TRASH, STAR = "reply", "forward", "trash", "star"
SPOKEN = {
    REPLY: r"reply|respond|answer",
    FORWARD: r"forward|send|pass|give .+ the",
    TRASH: r"delete|trash|remove|get rid",
    STAR: r"star|important",
}


def senders(view) -> list[dict]:
    """Return the mails of the list; the other clickable things have no text."""
    return [node for node in view.find_all("clickable") if len(node["name"].split()) > 2]


def mail(view):
    text = task(view)
    people = {node["name"].split()[0]: node for node in senders(view)}
    spoken = (k for k, words in SPOKEN.items() if re.search(words, text, re.IGNORECASE))
    kind = next(spoken, FORWARD)
    names = re.findall(r"[A-Z][\w-]+", text)
    sender, receiver = None, ""
    if kind == FORWARD:
        sender, receiver = from_and_to(text, people)
    else:
        sender = next(name for name in names if name in people)
    yield click_ref(view, people[sender])
    icons = [n for n in view.find_all("clickable") if not n["name"] and n["box"][0] > 60]
    star, trash = sorted(icons, key=lambda n: n["box"][0])
    if kind in (TRASH, STAR):
        yield click_ref(view, trash if kind == TRASH else star)
        return
    left, top, width, height = view.find("clickable", "Reply Forward")["box"]
    yield view.act("click", x=left + width * (0.25 if kind == REPLY else 0.75), y=top + height / 2)
    field = view.find_all("textbox")[-1 if kind == REPLY else 0]
    words = quoted(view)[0] if kind == REPLY else receiver
    yield enter(view, field, words)
    sends = [n for n in view.find_all("clickable") if not n["name"] and n["box"][0] > 60]
    yield click_ref(view, max(sends, key=lambda n: n["box"][0]))


def from_and_to(text: str, people: dict) -> tuple[str, str]:
    """Return who wrote the mail and who shall get it."""
    found = re.search(r"(?:from|by) ([A-Z][\w-]+)", text)
    names = [name for name in re.findall(r"[A-Z][\w-]+", text) if name in people or found]
    if found:
        sender = found[1]
    else:
        possessive = re.search(r"([A-Z][\w-]+)'s", text)
        sender = possessive[1] if possessive else next(n for n in names if n in people)
    to = re.search(r"(?:to|email) ([A-Z][\w-]+)", text)
    others = [n for n in re.findall(r"[A-Z][\w-]+", text)[0:] if n != sender and n not in VERBS]
    return sender, to[1] if to and to[1] != sender else others[-1]


VERBS = {"Find", "Send", "Forward", "Please", "Give", "The", "Pass", "Email", "I", "Locate", "You"}


def ticket(view):
    text = task(view)
    nodes = view.nodes
    offers = []
    hours = None
    for n in nodes:
        if found := re.search(r"Duration: (\d+)h (\d+)m", n["name"]):
            hours = int(found[1]) * 60 + int(found[2])
        elif n["role"] == "button" and n["name"].startswith("Book"):
            offers.append((hours, int(n["name"].split("$")[1]), n))
    key = 0 if "duration" in text else 1
    pick = max if ("longest" in text or "most expensive" in text) else min
    yield click_ref(view, pick(offers, key=lambda o: o[key])[2])
