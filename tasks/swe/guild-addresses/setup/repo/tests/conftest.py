import pytest

from guild import Members, open_store
from guild.cli import main


@pytest.fixture
def path(tmp_path):
    return tmp_path / "club.db"


@pytest.fixture
def members(path):
    connection = open_store(path)
    yield Members(connection)
    connection.close()


@pytest.fixture
def run(path, capsys):
    def run(*arguments, code=0):
        assert main([str(path), *map(str, arguments)]) == code
        seen = capsys.readouterr()
        return seen.out if code == 0 else seen.err

    return run
