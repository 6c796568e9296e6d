import pytest

from wicket import HttpError
from wicket.pages import Pages


@pytest.fixture
def pages(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "hello.html").write_text("<p>[[ name ]][[ part parts/footer ]]")
    (tmp_path / "parts" / "footer.html").write_text("<hr>[[ year ]]")
    (tmp_path / "round.html").write_text("[[ part round ]]")
    return Pages(tmp_path)


def test_values_and_parts(pages):
    assert pages.show("hello", name="<Ada>", year=2026).body == b"<p>&lt;Ada&gt;<hr>2026"


def test_an_unknown_page(pages):
    with pytest.raises(HttpError) as caught:
        pages.show("none")
    assert caught.value.status == 404


def test_a_page_that_is_a_part_of_itself(pages):
    with pytest.raises(ValueError, match="part of itself"):
        pages.show("round")
