def test_members_are_added_and_shown(run):
    assert run("add", "Ada  Byron", "--email", "ada@example.org", "--joined", "2020-02-01") == "1\n"
    assert run("show", 1).splitlines() == [
        "number   1",
        "name     Ada Byron",
        "email    ada@example.org",
        "joined   2020-02-01",
    ]


def test_lists(run):
    run("add", "Ada", "--email", "ada@example.org")
    run("add", "Ben")
    run("leave", 2, "2026-01-31")
    assert run("list") == "1  Ada\n2  Ben (left 2026-01-31)\n"
    assert run("list", "EXAMPLE") == "1  Ada\n"


def test_errors(run):
    assert run("show", 7, code=1) == "guild: no member 7\n"
    assert run("add", " ", code=1) == "guild: a member needs a name\n"
    assert run("add", "Ada", "--email", "ada", code=1) == "guild: no e-mail address: 'ada'\n"
    assert "no day" in run("add", "Ada", "--joined", "soon", code=1)
    assert run("list") == ""


def test_mailings_and_stats(run):
    for name, email in (("Ada", "x@example.org"), ("Ben", "X@example.org"), ("Cid", ""), ("Dan", "d@example.org")):
        run("add", name, "--email", email)
    run("leave", 4, "2026-01-31")
    assert run("mailing") == "x@example.org\n"
    assert run("stats").split() == ["3", "members", "1", "left", "1", "without", "address"]


def test_imports(run, tmp_path):
    run("add", "Ada", "--email", "ada@example.org")
    (tmp_path / "new.csv").write_text("name,email,joined\nAda B,ADA@example.org,2020-01-01\nBen,,\nCid,nothing,\n")
    assert "line 4: no e-mail address: 'nothing'" in run("import", tmp_path / "new.csv", code=1)
    assert run("list") == "1  Ada B\n2  Ben\n"
