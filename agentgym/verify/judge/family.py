"""Families of models: a judge prefers texts from models of its own family.

Self-preference of LLM judges is published (Panickssery et al. 2024). A family is recognised by name
only, so an unknown name belongs to no family.
"""

from __future__ import annotations

import re

_FAMILIES: dict[str, tuple[str, ...]] = {
    "GPT": ("gpt", "chatgpt", "o1", "o3", "o4", "davinci"),
    "Claude": ("claude", "opus", "sonnet", "haiku"),
    "Gemini": ("gemini", "gemma"),
    "Llama": ("llama", "codellama", "tulu", "vicuna"),
    "Qwen": ("qwen", "qwq", "qvq"),
    "Mistral": ("mistral", "mixtral", "magistral", "ministral", "codestral", "devstral", "pixtral"),
    "DeepSeek": ("deepseek",),
    "GLM": ("glm", "chatglm"),
    "Kimi": ("kimi", "moonshot"),
    "Grok": ("grok",),
    "Phi": ("phi",),
    "Command": ("command", "aya"),
    "Nova": ("nova",),
    "Granite": ("granite",),
    "MiniMax": ("minimax",),
    "InternLM": ("internlm", "internvl"),
    "OLMo": ("olmo", "molmo"),
}
_PART = re.compile(r"[a-z]\d(?![a-z0-9])|[a-z]+")


def families(model: str) -> frozenset[str]:
    """Return the families in a model's name; a distilled model may have two.

    Example:
        >>> sorted(families("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B"))
        ['DeepSeek', 'Qwen']
    """
    parts = set(_PART.findall(model.lower()))
    return frozenset(name for name, known in _FAMILIES.items() if parts & set(known))


def kinship(judge: str, contestant: str) -> str:
    """Return a warning if judge and contestant share a family, else empty.

    Args:
        judge: Spec of the judge, ``openai:MODEL?…``.
        contestant: Spec of an agent; a spec without a model has no family.
    """
    mine, theirs = _model(judge), _model(contestant)
    if not mine or not theirs:
        return ""
    shared = sorted(families(mine) & families(theirs))
    if mine != theirs and not shared:
        return ""
    what = "the same model" if mine == theirs else f"of one family, {' and '.join(shared)}"
    return f"judge {mine} and agent {contestant} are {what}: judges favour their own kin"


def _model(spec: str) -> str:
    return spec.partition(":")[2].partition("?")[0]
