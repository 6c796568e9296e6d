import pytest
from guest_site import APP, BOOK, INDEX, visit, write_site

from agentgym.services import Backend
from agentgym.sites.hosts import open_sites
from agentgym.sites.load import load_site


@pytest.fixture(scope="session")
def guests(tmp_path_factory):
    """The loaded site."""
    folder = tmp_path_factory.mktemp("site") / "envs" / "inn" / "sites" / "guests"
    (folder / "static").mkdir(parents=True)
    (folder / "static" / "a.css").write_text("p {}")
    (folder.parent / "secret.txt").write_text("secret")
    return load_site(write_site(folder, app_py=APP, templates__index_html=INDEX))


@pytest.fixture
def book():
    """Live services of one episode."""
    backend = Backend(BOOK, BOOK.template(1))
    yield backend
    backend.close()


@pytest.fixture
def sites(guests, book):
    """The sites of one episode."""
    return open_sites((guests,), services=book, reader=book, seed="inn/a:1")


@pytest.fixture
async def visitor(sites):
    """A visitor of the sites."""
    async with visit(sites) as client:
        yield client
