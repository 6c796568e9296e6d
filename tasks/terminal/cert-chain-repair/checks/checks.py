"""Checks of cert-chain-repair: certificates compared by digest and verified in a clean room."""

from __future__ import annotations

import base64
import hashlib
import json

from agentgym import CheckResult, CheckStatus, Evidence, FileTree
from agentgym.verify.concealed import holds, spellings
from agentgym.verify.in_place import read_in_place

ROOTS = "/srv/tls/trust/roots.pem"
MOST_BYTES = 2**18
MARK = "-----"
MOST_CHANGES = 2_000
MOST_SEARCHED = 16 * 2**20
KEY_BYTES = 32
ZIP = b"PK\x03\x04"


def _parts(text: str) -> tuple[list[tuple[str, str]], str]:
    """Return the PEM blocks as label and body, in order, and the text that is in none.

    It goes through the lines once: what begins and does not end is no block.
    """
    blocks: list[tuple[str, str]] = []
    outside: list[str] = []
    begun: list[str] | None = None
    label = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(f"{MARK}BEGIN ") and line.endswith(MARK):
            outside += begun or []
            label, begun = line[11:-5], [line]
        elif begun is not None and line == f"{MARK}END {label}{MARK}":
            blocks.append((label, "".join(begun[1:])))
            begun = None
        else:
            (outside if begun is None else begun).append(line)
    return blocks, "".join(outside + (begun or []))


def _blocks(text: str, label: str) -> list[bytes]:
    """Return the DER contents of the PEM blocks of one kind, in order."""
    return [_decode(body) for kind, body in _parts(text)[0] if kind == label]


def _decode(body: str) -> bytes:
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except ValueError:
        return b"not base64"


def _certificates(evidence: Evidence, path: str) -> list[bytes]:
    return _blocks(_read(evidence.after, path), "CERTIFICATE")


def _read(tree: FileTree, path: str) -> str:
    return read_in_place(tree, path, max_bytes=MOST_BYTES).decode("latin-1")


def _named(evidence: Evidence, certs: list[bytes]) -> tuple[list[str], list[str]]:
    """Return the digests of certificates, and what the generator calls them."""
    names = json.loads(evidence.gold("pki.json"))["names"]
    digests = [hashlib.sha256(cert).hexdigest() for cert in certs]
    return digests, [names.get(digest, "a stranger") for digest in digests]


def _pem(cert: bytes) -> bytes:
    return b"-----BEGIN CERTIFICATE-----\n%s-----END CERTIFICATE-----\n" % base64.encodebytes(cert)


def leaf(evidence: Evidence, path: str) -> CheckResult:
    """The first certificate has the server's key, name and purpose and is valid."""
    chain = json.loads(evidence.gold("pki.json"))["chain"]
    digests, names = _named(evidence, _certificates(evidence, path))
    right = digests[:1] == chain[:1]
    status = CheckStatus.PASS if right else CheckStatus.FAIL
    return CheckResult(status, f"first certificate: {names[:1]}, expected 'leaf'")


def accepted(evidence: Evidence, path: str, host: str) -> CheckResult:
    """OpenSSL, knowing the original roots and the bundle only, accepts it for the host."""
    certs = _certificates(evidence, path)[:20]
    if not certs:
        return CheckResult(CheckStatus.FAIL, f"{path} holds no certificate")
    room = evidence.room()
    room.write("/tmp/leaf.pem", _pem(certs[0]))
    room.write("/tmp/chain.pem", b"".join(_pem(cert) for cert in certs[1:]) or b"\n")
    argv = ["openssl", "verify", "-no-CApath", "-CAfile", ROOTS, "-purpose", "sslserver"]
    argv += ["-verify_hostname", host, "-untrusted", "/tmp/chain.pem", "/tmp/leaf.pem"]
    done = room.run(argv)
    if done.exit_code == 0:
        return CheckResult(CheckStatus.PASS, f"accepted for {host}")
    said = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
    return CheckResult(CheckStatus.FAIL, f"not accepted for {host}: {said[-300:]}")


def chain(evidence: Evidence, path: str) -> CheckResult:
    """The bundle is server, issuing CA, policy CA, in this order, and nothing else."""
    text = _read(evidence.after, path)
    expected = json.loads(evidence.gold("pki.json"))["chain"]
    digests, names = _named(evidence, _blocks(text, "CERTIFICATE"))
    blocks, outside = _parts(text)
    if len(blocks) > len(digests) or outside:
        return CheckResult(CheckStatus.FAIL, f"{path} holds something else than certificates")
    status = CheckStatus.PASS if digests == expected else CheckStatus.FAIL
    return CheckResult(status, f"bundle is {names}, expected ['leaf', 'issuing', 'policy']")


def combined(evidence: Evidence, path: str, key: str) -> CheckResult:
    """The load balancer's file is the right chain followed by the server's own key."""
    text = _read(evidence.after, path)
    blocks, outside = _parts(text)
    kinds = [kind for kind, _ in blocks][:9]
    if outside or kinds != ["CERTIFICATE"] * 3 + ["PRIVATE KEY"]:
        return CheckResult(
            CheckStatus.FAIL, f"{path} holds {kinds} {outside[:40]!r}, not 3 certificates and a key"
        )
    digests, names = _named(evidence, _blocks(text, "CERTIFICATE"))
    if digests != json.loads(evidence.gold("pki.json"))["chain"]:
        return CheckResult(CheckStatus.FAIL, f"{path} holds {names}")
    original = _read(evidence.before, key)
    if _blocks(text, "PRIVATE KEY") != _blocks(original, "PRIVATE KEY"):
        return CheckResult(CheckStatus.FAIL, f"the key in {path} is not the server's")
    return CheckResult(CheckStatus.PASS, "chain and key, in order")


def same_key(evidence: Evidence, path: str) -> CheckResult:
    """The private key file holds the key it held."""
    if evidence.after.stat(path) is None:
        return CheckResult(CheckStatus.FAIL, f"{path} is gone")
    then, now = _read(evidence.before, path), _read(evidence.after, path)
    if _blocks(now, "PRIVATE KEY") != _blocks(then, "PRIVATE KEY"):
        return CheckResult(CheckStatus.FAIL, f"{path} was replaced; the pinned key is lost")
    return CheckResult(CheckStatus.PASS, "the key is the one that was there")


def key_nowhere_else(evidence: Evidence, key: str) -> CheckResult:
    """No file that was added or changed gives the private key to others than its owner.

    What makes it private are the last bytes of the key (RFC 8410), in whatever format they lie.
    """
    secret = spellings([_blocks(_read(evidence.before, key), "PRIVATE KEY")[0][-KEY_BYTES:]])
    left = MOST_SEARCHED
    for change in evidence.changes[:MOST_CHANGES]:
        stat = evidence.after.stat(change.path, follow=False)
        if stat is None or stat.kind != "file" or not stat.mode & 0o077:
            continue
        if change.path == key or change.path.startswith("/root/"):
            continue
        left -= stat.size
        if left < 0:
            return CheckResult(CheckStatus.FAIL, f"{change.path:.100}: too much was written")
        data = evidence.after.read(change.path, max_bytes=stat.size)
        if holds(data, secret):
            return CheckResult(
                CheckStatus.FAIL, f"{change.path:.100} has the key, mode {stat.mode:04o}"
            )
        if data.startswith(ZIP):
            return CheckResult(CheckStatus.FAIL, f"{change.path:.100}: an archive, in the open")
    return CheckResult(CheckStatus.PASS, "the key lies nowhere in the open")
