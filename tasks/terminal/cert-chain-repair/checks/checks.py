"""Checks of cert-chain-repair: certificates compared by digest and verified in a clean room."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from agentgym import CheckResult, CheckStatus, Evidence

ROOTS = "/srv/tls/trust/roots.pem"
BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


def _blocks(text: str, label: str) -> list[bytes]:
    """Return the DER contents of the PEM blocks of one kind, in order."""
    return [_decode(body) for kind, body in BLOCK.findall(text) if kind == label]


def _decode(body: str) -> bytes:
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except ValueError:
        return b"not base64"


def _certificates(evidence: Evidence, path: str) -> list[bytes]:
    return _blocks(evidence.after.read(path).decode("latin-1"), "CERTIFICATE")


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
    certs = _certificates(evidence, path)
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
    text = evidence.after.read(path).decode("latin-1")
    expected = json.loads(evidence.gold("pki.json"))["chain"]
    digests, names = _named(evidence, _blocks(text, "CERTIFICATE"))
    if len(BLOCK.findall(text)) > len(digests):
        return CheckResult(CheckStatus.FAIL, f"{path} holds something else than certificates")
    status = CheckStatus.PASS if digests == expected else CheckStatus.FAIL
    return CheckResult(status, f"bundle is {names}, expected ['leaf', 'issuing', 'policy']")


def combined(evidence: Evidence, path: str, key: str) -> CheckResult:
    """The load balancer's file is the right chain followed by the server's own key."""
    text = evidence.after.read(path).decode("latin-1")
    kinds = [kind for kind, _ in BLOCK.findall(text)]
    if kinds != ["CERTIFICATE"] * 3 + ["PRIVATE KEY"]:
        return CheckResult(CheckStatus.FAIL, f"{path} holds {kinds}, not 3 certificates and a key")
    digests, names = _named(evidence, _blocks(text, "CERTIFICATE"))
    if digests != json.loads(evidence.gold("pki.json"))["chain"]:
        return CheckResult(CheckStatus.FAIL, f"{path} holds {names}")
    original = evidence.before.read(key).decode()
    if _blocks(text, "PRIVATE KEY") != _blocks(original, "PRIVATE KEY"):
        return CheckResult(CheckStatus.FAIL, f"the key in {path} is not the server's")
    return CheckResult(CheckStatus.PASS, "chain and key, in order")


def same_key(evidence: Evidence, path: str) -> CheckResult:
    """The private key file holds the key it held."""
    if evidence.after.stat(path) is None:
        return CheckResult(CheckStatus.FAIL, f"{path} is gone")
    then, now = (tree.read(path).decode("latin-1") for tree in (evidence.before, evidence.after))
    if _blocks(now, "PRIVATE KEY") != _blocks(then, "PRIVATE KEY"):
        return CheckResult(CheckStatus.FAIL, f"{path} was replaced; the pinned key is lost")
    return CheckResult(CheckStatus.PASS, "the key is the one that was there")
