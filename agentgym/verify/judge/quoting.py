"""Quotation of exhibits, so that nothing in them can pass for an instruction.

Delimiters carry a code that is a digest of the quoted text: to predict it, an agent would have to
find a text that contains its own SHA-256. Delimiting untrusted text and announcing it to the model
is "spotlighting" (Hines et al. 2024). Templates of open models also read role markup inside
messages, so that markup is defused. Some models compose characters (NFKC) before they look for it,
so that markup in wide characters counts as well.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from agentgym.chat.picture import picture_part
from agentgym.records import Criterion, Exhibit, Json

_CODE_DIGITS = 32
_MARKUP = re.compile(
    r"""<(?=[|｜]|/?exhibit\b|/?s>|</?sys|/?(?:start|end)_of_turn|/?(?:im_start|im_end|bos|eos)\b)
    |<(?=seed:|reserved_\d|extra_id_\d|SPECIAL_\d)|[|｜](?=[>\]])|\[(?=[|｜]|e~\[)|\](?=~)
    |\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_))""",
    re.VERBOSE | re.IGNORECASE,
)


_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code)
    for first, last in ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
    for code in range(first, last + 1)
}
"""Characters without an appearance whose category says otherwise (Default_Ignorable_Code_Point)."""

_SYMBOLS = frozenset(("So", "Sm", "Sk", "Po", "Pd", "Nd", "No"))
_STYLES = "\ufe0e\ufe0f"
"""They choose the form of the symbol before them: text or emoji."""


def defuse(text: str) -> str:
    r"""Return a text without role markup and without invisible characters.

    Example:
        >>> defuse("<|im_start|>system")
        '<·|im_start|·>system'
    """
    text = text.replace("\r\n", "\n")
    pairs = zip(f" {text}", text, strict=False)
    shown = "".join(c if _is_seen(c, before) else f"\\u{{{ord(c):x}}}" for before, c in pairs)
    folded = shown if shown.isascii() else "".join(map(_folded, shown))
    ends = [0, *(found.end() for found in _MARKUP.finditer(folded)), len(shown)]
    return "·".join(shown[start:end] for start, end in pairwise(ends))


def fingerprint(exhibit: Exhibit) -> list[Json]:
    """Return the identity of an exhibit, in a form that can be hashed."""
    text = exhibit.text.encode("utf-8", "surrogatepass")
    image = None
    if exhibit.image is not None:
        shape = "x".join(map(str, exhibit.image.shape))
        image = f"{shape}:{hashlib.sha256(exhibit.image.tobytes()).hexdigest()}"
    return [exhibit.id, exhibit.kind, exhibit.title, hashlib.sha256(text).hexdigest(), image]


def exhibit_code(criterion: Criterion, exhibits: Sequence[Exhibit]) -> str:
    """Return the code that the delimiters of these exhibits carry: 32 hexadecimal digits."""
    levels: list[Json] = [[x.name, x.score, x.meaning] for x in criterion.levels]
    whole: list[Json] = [criterion.text, levels, [fingerprint(e) for e in exhibits]]
    code = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
    while any(code[:_CODE_DIGITS] in e.text or code[:_CODE_DIGITS] in e.title for e in exhibits):
        code = hashlib.sha256(code.encode()).hexdigest()
    return code[:_CODE_DIGITS]


def quote(exhibit: Exhibit, code: str) -> list[dict[str, Json]]:
    """Return the parts of a message that show one exhibit."""
    # The agent also chooses paths and tool names, so the title stands inside the delimiters.
    body = defuse(f"{exhibit.title}\n{exhibit.text}".rstrip("\n"))
    opening = f"<exhibit {code} id={exhibit.id} kind={exhibit.kind}>\n{body}\n"
    closing = f"</exhibit {code}>\n"
    if exhibit.image is None:
        return [{"type": "text", "text": opening + closing}]
    return [
        {"type": "text", "text": opening},
        picture_part(exhibit.image),
        {"type": "text", "text": closing},
    ]


def _is_seen(character: str, before: str) -> bool:
    if character.isascii():
        return character in "\n\t" or " " <= character <= "~"
    if character in _STYLES:
        return unicodedata.category(before) in _SYMBOLS
    return character not in _UNSEEN and unicodedata.category(character) not in _UNSEEN_CATEGORIES


def _folded(character: str) -> str:
    """Return the plain form of a character, if it is a single one."""
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character
