"""The contract of services holds for the shop, and finds what is broken in others."""

import contextlib
import random

import pytest
from shop import Shop
from typing_extensions import TypedDict

from agentgym.services import Service, ServiceError, ServiceSet, reads, writes
from agentgym.testing.service_contract import ServiceContract

TABLE = "CREATE TABLE notes_note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"


class Card(TypedDict):
    text: str
    id: int


class Notes(Service):
    """Sound: notes that can be added, changed and found."""

    schema = TABLE

    def fill(self, rng: random.Random) -> None:
        for k in range(5):
            self.db.insert("notes_note", text=f"note {k} of {rng.random()}")

    @reads
    def find(self, text: str) -> list[Card]:
        """Find notes.

        Args:
            text: What they say.
        """
        return self.db.all("SELECT * FROM notes_note WHERE instr(text, ?)", text)

    @writes
    def add(self, text: str) -> int:
        """Add a note.

        Args:
            text: What it says.
        """
        return self.db.insert("notes_note", text=text)


class ReadsAndWrites(Notes):
    @reads
    def find(self, text: str) -> list[Card]:
        """Find notes.

        Args:
            text: What they say.
        """
        self.db.insert("notes_note", text=text)
        return []


class PastesSql(Notes):
    @reads
    def find(self, text: str) -> list[Card]:
        """Find notes.

        Args:
            text: What they say.
        """
        return self.db.all(f"SELECT * FROM notes_note WHERE text = '{text}'")


class TidiesText(Notes):
    @writes
    def add(self, text: str) -> int:
        """Add a note.

        Args:
            text: What it says.
        """
        return self.db.insert("notes_note", text=text.strip().replace("'", ""))


class ForgetsFields(Notes):
    @reads
    def find(self, text: str) -> list[Card]:
        """Find notes.

        Args:
            text: What they say.
        """
        return self.db.all("SELECT text FROM notes_note")


class KeepsCount(Notes):
    count = [0]

    @writes
    def add(self, text: str) -> int:
        """Add a note.

        Args:
            text: What it says.
        """
        self.count[0] += 1
        return self.db.insert("notes_note", text=f"{self.count[0]} {text}")


class FillsByChance(Notes):
    def fill(self, rng: random.Random) -> None:
        self.db.insert("notes_note", text=str(random.random()))


class SwallowsFailures(Notes):
    @writes
    def add(self, text: str) -> int:
        """Add a note.

        Args:
            text: What it says.
        """
        number = self.db.insert("notes_note", text=text)
        with contextlib.suppress(Exception):
            self.db.execute("UPDATE notes_note SET text = text WHERE id = ?", number)
        return number


class NeverAnswers(Notes):
    @reads
    def find(self, text: str) -> list[Card]:
        """Find notes.

        Args:
            text: What they say.
        """
        raise KeyError(text)


class TakesKeys(Notes):
    """Notes that are named by their text: no tool has a place for another text."""

    @writes
    def add(self, text: str) -> int:
        """Copy a note.

        Args:
            text: What the note says that is copied.
        """
        if self.db.one("SELECT id FROM notes_note WHERE text = ?", text) is None:
            raise ServiceError("not_found", f"no note says {text!r}")
        return self.db.insert("notes_note", text=text)


class SweepsByKey(Notes):
    @writes
    def add(self, text: str) -> int:
        """Double every note that says something; none may.

        Args:
            text: What they say.
        """
        found = self.db.all("SELECT id FROM notes_note WHERE text = ?", text)
        for _ in found:
            self.db.insert("notes_note", text=text)
        return len(found)


class DropsText(Notes):
    @writes
    def add(self, text: str) -> int:
        """Add a note.

        Args:
            text: What it says.
        """
        return self.db.insert("notes_note", text="noted")


def suite(service):
    class Suite(ServiceContract):
        samples = 10

        def make(self):
            return ServiceSet({"notes": service})

    return Suite()


TESTS = [name for name in dir(ServiceContract) if name.startswith("test_")]


@pytest.mark.parametrize("service", [TakesKeys, SweepsByKey])
def test_a_sound_service_whose_only_text_is_a_key_keeps_it(service):
    suite(service).test_hostile_texts_are_texts()


@pytest.mark.parametrize("test", TESTS)
def test_a_sound_service_keeps_it(test):
    getattr(suite(Notes), test)()


@pytest.mark.parametrize(
    ("service", "test", "words"),
    [
        (ReadsAndWrites, "test_reads_change_nothing", "marked as reading"),
        (PastesSql, "test_hostile_texts_are_texts", "internal|fault of the service"),
        (TidiesText, "test_hostile_texts_are_texts", None),
        (DropsText, "test_hostile_texts_are_texts", None),
        (ForgetsFields, "test_reads_change_nothing", "'id' is a required property"),
        (KeepsCount, "test_the_same_calls_give_the_same_state", None),
        (KeepsCount, "test_the_transports_agree", "HTTP differs"),
        (FillsByChance, "test_the_same_calls_give_the_same_state", None),
        (SwallowsFailures, "test_writes_are_whole_or_nothing", "statement 1"),
        (NeverAnswers, "test_reads_change_nothing", "KeyError"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_broken_is_found(service, test, words):
    with pytest.raises(Exception, match=words) as caught:
        getattr(suite(service), test)()
    assert type(caught.value).__name__ in ("AssertionError", "ValidationError")


def test_a_service_of_defects_is_refused_by_name():
    class Defects(ServiceContract):
        samples = 5

        def make(self):
            return ServiceSet({"shop": Shop})

    with pytest.raises(AssertionError, match=r"shop_touch.*marked as reading"):
        Defects().test_reads_change_nothing()
