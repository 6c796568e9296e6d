import io
from datetime import date

import pytest

from fieldkit import FieldError, Record, merge, read, sort, write


def test_records_are_read_with_lines():
    one, two = read("a: 1\nb: x\n\n\na: 2026-03-01\n")
    assert [(f.name, f.value, f.line) for f in one.fields] == [("a", 1, 1), ("b", "x", 2)]
    assert (two["a"].value, two["a"].line) == (date(2026, 3, 1), 5)


def test_errors_have_a_position():
    with pytest.raises(FieldError) as caught:
        read("a: 1\n\nwhat\n")
    assert caught.value.position.line == 3


def test_what_is_written_is_what_was_read():
    file = io.StringIO()
    write(file, read("a: 01\n\nb:  x\n"))
    assert file.getvalue() == "a: 01\n\nb: x\n"


def test_new_fields_go_before_old_ones():
    merged = merge(Record.from_text("a: 1\nb: 1\n"), Record.from_text("b: 2\n"))
    assert [(f.name, f.value) for f in merged.fields] == [("a", 1), ("b", 2)]
    assert [r["a"].value for r in sort(read("a: 2\n\na: 1\n"), "a")] == [1, 2]
