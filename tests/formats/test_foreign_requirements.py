"""Requirements of test scripts are read from their text."""

from foreign_folder import TEST

from agentgym.formats.sandboxed.requirements import ScriptRequirements, read_requirements


def test_a_published_script():
    assert read_requirements([TEST]) == ScriptRequirements(
        ("pytest==8.4.1",), ("curl",), python="3.13"
    )


def test_packages_of_uvx_in_every_spelling():
    script = "uvx -p 3.11 -w numpy==2.3.1 --with 'pillow>=11' --with=rich pytest /tests -rA\n"
    assert read_requirements([script]).pip == ("numpy==2.3.1", "pillow>=11", "pytest", "rich")


def test_uv_projects_and_environments():
    script = "uv init && uv add pytest==8.3.4 requests\nuv venv .tb; uv pip install toml==0.10\n"
    assert read_requirements([script]).pip == ("pytest==8.3.4", "requests", "toml==0.10")


def test_what_goes_into_the_python_of_the_image():
    wants = read_requirements(["pip3 install --index-url https://pypi.org/simple psutil==7.0.0\n"])
    assert wants.own_python
    assert wants.pip == ("psutil==7.0.0", "pytest")
    assert not read_requirements([TEST]).own_python
    assert read_requirements(["python3 -m pip install x\n"]).own_python


def test_debian_packages_behind_variables_and_sudo():
    script = (
        "apt-get update -qq && sudo DEBIAN_FRONTEND=noninteractive apt-get -qq install -y expect\n"
    )
    assert read_requirements([script]).apt == ("expect",)


def test_all_scripts_of_a_task_count_and_texts_do_not():
    wants = read_requirements(["apt install -y git\n", "cat <<'END'\nit's a text\nEND\necho uvx\n"])
    assert wants == ScriptRequirements(("pytest",), ("git",))
