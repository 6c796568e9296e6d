"""The host's access to packages, available to one build step and absent from its layer.

It copies name servers, the proxies and mirrors of apt, pip and npm, and certificates into a folder
in memory that only the step sees. Variables point programs to that folder, so the image itself
does not change. Standard library only: this runs in the namespace of a build, see
`build_namespace.py`.
"""

from __future__ import annotations

import configparser
import fnmatch
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")
_CERTIFICATES = (
    *("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"),
    "NODE_EXTRA_CA_CERTS",
)
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
_USER_INFO = re.compile(r"""(?<=://)[^/\s"']*@|[^/\s"'=:@]+:[^/\s"']*@""")
"""Name and password before a host."""
_NPM_SECRET = re.compile(
    r"^[^=\n]*(auth|password|username|email|token|otp|cert|key)[^=\n]*=", re.IGNORECASE
)
"""Settings of npm that identify a user; see npmrc(5)."""
_APT_WANTED = re.compile(r"^Acquire::(https?|ftp|Retries|Check-|ForceIPv)")
# One-line format (sources.list(5)): type, options, address, suite, components.
_ENTRY = re.compile(r"^deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s*(.*)$")


def lay(folder: Path, seen_as: str, image: Path, *, with_credentials: bool) -> dict[str, str]:
    """Fill a folder with the configuration that gives a step the host's network access.

    Args:
        folder: Empty; on a file system outside the layer.
        seen_as: Its path in the image.
        image: The image's root, which tells the distribution.
        with_credentials: Whether the step may know passwords and tokens. A step that a stranger
            wrote could send them anywhere.

    Returns:
        The variables that point programs to the folder.
    """
    env = _laid(folder, seen_as, image)
    if with_credentials:
        return env
    allowed = os.environ.get("AGENTGYM_TASK_VARIABLES", "").replace(",", " ").split()
    (folder / "auth.conf").unlink(missing_ok=True)
    for name in ("apt.conf", "sources.list", "pip.conf", "npmrc"):
        if (file := folder / name).exists():
            lines = file.read_text("utf-8", "replace").splitlines(keepends=True)
            kept = (line for line in lines if name != "npmrc" or not _NPM_SECRET.search(line))
            file.write_text(_USER_INFO.sub("", "".join(kept)))
    return {
        name: value
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)
        else _USER_INFO.sub("", value)
        for name, value in env.items()
    }


def _laid(folder: Path, seen_as: str, image: Path) -> dict[str, str]:
    """Fill a folder as `lay` does, with all credentials."""
    env = {name: value for name, value in os.environ.items() if name.lower() in _PROXIES}
    _copy("/etc/resolv.conf", folder / "resolv.conf")
    bundle = next((p for p in map(os.environ.get, _CERTIFICATES) if p and os.path.isfile(p)), None)
    if _copy(bundle or _BUNDLE, folder / "ca.crt") and bundle:
        env |= {name: f"{seen_as}/ca.crt" for name in _CERTIFICATES if name in os.environ}
    (folder / "apt.conf").write_text("".join(_apt(folder, seen_as, image)))
    env["APT_CONFIG"] = f"{seen_as}/apt.conf"
    env |= _pip(folder, seen_as)
    if _copy(os.path.expanduser("~/.npmrc"), folder / "npmrc"):
        env["NPM_CONFIG_USERCONFIG"] = f"{seen_as}/npmrc"
    npm = ("npm_config_registry", "NPM_CONFIG_REGISTRY")
    return env | {name: os.environ[name] for name in npm if name in os.environ}


def _copy(source: str, target: Path) -> bool:
    try:
        target.write_bytes(Path(source).read_bytes())
    except OSError:
        return False
    target.chmod(0o644)
    return True


# --- apt -------------------------------------------------------------------------------------


def _apt(folder: Path, seen_as: str, image: Path) -> Iterator[str]:
    for line in _apt_settings():
        if _APT_WANTED.match(line) and "CAInfo" not in line:
            yield f"{line}\n"
    if (folder / "ca.crt").exists():
        yield f'Acquire::https::CAInfo "{seen_as}/ca.crt";\n'
    secrets = [Path("/etc/apt/auth.conf"), *sorted(Path("/etc/apt/auth.conf.d").glob("*.conf"))]
    if known := [path.read_text() for path in secrets if path.is_file()]:
        (folder / "auth.conf").write_text("\n".join(known))
        yield f'Dir::Etc::netrc "{seen_as}/auth.conf";\n'
    sources = host_sources(codename(image))
    own = "".join(text for _, text in _source_files(image))
    # If the image uses the host's mirror, its own list stays, because a step may edit it.
    if sources and not all(address in own for address, _, _ in sources):
        lines = [f"deb {address} {suite} {parts}\n" for address, suite, parts in sources]
        (folder / "sources.list").write_text("".join(lines))
        yield f'Dir::Etc::sourcelist "{seen_as}/sources.list";\n'


def replaced_sources(image: Path) -> list[Path]:
    """Return the image's own lists of its distribution, which the host's lists replace."""
    name = codename(image)
    return [path for path, text in _source_files(image) if name and name in text]


def _apt_settings() -> list[str]:
    try:
        done = subprocess.run(
            ["apt-config", "dump"], capture_output=True, text=True, timeout=30, check=False
        )
    except FileNotFoundError:
        return []
    return done.stdout.splitlines()


def codename(root: Path) -> str:
    """Return the release of a root, e.g. ``bookworm``; empty if the root does not name it."""
    try:
        text = (root / "usr/lib/os-release").read_text()
    except OSError:
        return ""
    found = re.search(r'^VERSION_CODENAME="?([a-z]+)"?$', text, re.MULTILINE)
    return found[1] if found else ""


def host_sources(release: str, root: Path = Path("/")) -> list[tuple[str, str, str]]:
    """Return (address, suite, components) of the host's own sources of a release.

    Third-party repositories of the host are left out: they are not meant for images.
    """
    wanted = (release, f"{release}-updates", f"{release}-security")
    found = []
    for _, text in _source_files(root):
        for address, suites, parts in [*_one_line(text), *_stanzas(text)]:
            found += [(address, suite, parts) for suite in suites.split() if suite in wanted]
    return list(dict.fromkeys(found)) if release else []


def _source_files(root: Path) -> list[tuple[Path, str]]:
    folder = root / "etc/apt"
    paths = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    wanted = [path for path in paths if path.suffix in (".list", ".sources") and path.is_file()]
    return [(path, path.read_text("utf-8", "replace")) for path in wanted]


def _one_line(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.splitlines():
        if entry := _ENTRY.match(line.strip()):
            yield entry[1], entry[2], entry[3].partition("#")[0].strip()


def _stanzas(text: str) -> Iterator[tuple[str, str, str]]:
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
        usable = "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes") != "no"
        for address in fields.get("URIs", "").split() if usable else ():
            yield address, fields.get("Suites", ""), fields.get("Components", "")


# --- pip -------------------------------------------------------------------------------------


def _pip(folder: Path, seen_as: str) -> dict[str, str]:
    """Merge pip's configuration files, later ones over earlier ones (pip, "Configuration")."""
    merged = configparser.RawConfigParser()
    home = os.path.expanduser("~")
    named = os.environ.get("PIP_CONFIG_FILE", "")
    merged.read(["/etc/pip.conf", f"{home}/.pip/pip.conf", f"{home}/.config/pip/pip.conf", named])
    for section in merged.sections():
        for option, value in merged.items(section):
            if option == "cert":
                merged.set(section, option, f"{seen_as}/ca.crt")
            elif value.strip().startswith(("/", "file:")):
                # The step does not see this folder of the host.
                merged.remove_option(section, option)
    with open(folder / "pip.conf", "w") as file:
        merged.write(file)
    passed = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT")
    env = {name: os.environ[name] for name in passed if name in os.environ}
    return {**env, "PIP_CONFIG_FILE": f"{seen_as}/pip.conf", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
