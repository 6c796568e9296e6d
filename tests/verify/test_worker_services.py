"""A worker asks the host only for what is new of an episode's services, and sees all of it."""

import pytest

from agentgym.services import Backend, Service, ServiceSet, reads, writes
from agentgym.verify.evidence import EpisodeEvidence
from agentgym.verify.service_state import ServicesSeen
from agentgym.verify.worker.host import Answers
from agentgym.verify.worker.remote import Known, PristineEvidence, RemoteEvidence, View


class Notes(Service):
    """Notes, and when somebody last looked."""

    schema = """
    CREATE TABLE notes_note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, looked INTEGER);
    """
    volatile = {"notes_note": ("looked",)}

    @writes
    def add(self, text: str) -> int:
        """Add a note.

        Args:
            text: What it says.
        """
        return self.db.insert("notes_note", text=text, looked=0)

    @reads
    def count(self) -> int:
        """Count the notes."""
        self.db.execute("UPDATE notes_note SET looked = looked + 1")
        return self.db.value("SELECT count(*) FROM notes_note")


class Episode:
    """Looks at a backend as the worker of one episode does; notes what it asked for."""

    def __init__(self):
        services = ServiceSet({"notes": Notes})
        self.start = services.template(1)
        self.backend = Backend(services, self.start)
        self.known, self.asked = Known(), []

    def look(self, kind=RemoteEvidence, services=True):
        seen = ServicesSeen.of(self.start, self.backend)
        there = EpisodeEvidence(
            task="t/t-v1",
            seed=0,
            params={},
            steps=(),
            answer=None,
            gave_up=None,
            before=None,
            after=None,
            gold_files={},
            services=seen,
            changes=(),
            processes=(),
            connections=(),
            open_room=None,
        )
        answers = Answers(there)

        def ask(what, **fields):
            self.asked.append(what)
            kind, value = answers.reply({"ask": what, **fields}, b"")
            assert kind == "answer", value
            return value

        view = View("t/t-v1", 0, {}, None, None, None, None, False, services)
        return RemoteEvidence(view, ask, self.known) if kind is RemoteEvidence else kind(view, ask)


def texts(tables):
    return [row["text"] for row in tables.rows("notes_note")]


def test_later_looks_see_new_calls_and_rows():
    episode = Episode()
    for number, text in enumerate(("one", "two", "three"), 1):
        episode.backend.call("notes_add", {"text": text})
        seen = episode.look()
        assert [call.sequence for call in seen.calls] == list(range(number))
        assert seen.calls[-1].arguments == {"text": text}
        assert texts(seen.tables_after)[-1] == text and texts(seen.tables_before) == []
        assert [change.kind for change in seen.row_changes] == ["added"] * number
    assert episode.asked.count("services.before") == 1


def test_an_earlier_look_stays_as_it_was():
    episode = Episode()
    episode.backend.call("notes_add", {"text": "one"})
    first = episode.look()
    assert (len(first.calls), len(first.row_changes)) == (1, 1)
    episode.backend.call("notes_add", {"text": "two"})
    assert len(episode.look().row_changes) == 2
    assert (len(first.calls), texts(first.tables_after)) == (1, ["one"])


def test_what_hashes_ignore_is_sent_too():
    episode = Episode()
    episode.backend.call("notes_add", {"text": "one"})
    assert episode.look().tables_after.rows("notes_note")[0]["looked"] == 0
    before = episode.backend.hash
    episode.backend.call("notes_count", {})
    assert episode.backend.hash == before
    assert episode.look().tables_after.rows("notes_note")[0]["looked"] == 1


def test_a_state_that_stayed_is_not_sent_again():
    episode = Episode()
    assert texts(episode.look().tables_after) == []
    sent = episode.known.after
    assert texts(episode.look().tables_after) == [] and episode.known.after is sent


def test_the_pristine_world_has_no_calls_and_the_first_rows():
    episode = Episode()
    episode.backend.call("notes_add", {"text": "one"})
    seen = episode.look(PristineEvidence)
    assert (tuple(seen.calls), texts(seen.tables_after), seen.row_changes) == ((), [], ())


@pytest.mark.parametrize("kind", [RemoteEvidence, PristineEvidence])
@pytest.mark.parametrize("name", ["calls", "tables_before", "tables_after", "row_changes"])
def test_without_services_the_check_is_told(kind, name):
    seen = Episode().look(kind, services=False)
    with pytest.raises(Exception, match="the environment has none"):
        getattr(seen, name)
