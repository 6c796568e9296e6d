"""The process that renders chat templates: requests on standard input, answers on standard output.

A template is a program of the model's author. If it does not end, or fills the memory, it ends this
process. Both directions carry four bytes of length and a JSON object.
"""

import json
import resource
import signal
import struct
import sys


def main(cpu_s: float, memory_bytes: int) -> None:
    """Serve until standard input is closed."""
    from jinja2 import TemplateError
    from transformers.utils.chat_template_utils import render_jinja_template

    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := requests.read(4):
        asked = json.loads(requests.read(struct.unpack(">I", head)[0]))
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        try:
            (text,), _ = render_jinja_template(
                [asked["messages"]],
                tools=asked["tools"],
                chat_template=asked["template"],
                add_generation_prompt=asked["prompt"],
                **asked["tokens"],
            )
            told = {"text": text}
        except TemplateError as error:
            told = {"refused": str(error)[:2_000]}
        except Exception as error:  # noqa: BLE001 - a template may raise anything
            told = {"refused": f"{type(error).__name__}: {error}"[:2_000]}
        signal.setitimer(signal.ITIMER_PROF, 0)
        body = json.dumps(told).encode()
        answers.write(struct.pack(">I", len(body)) + body)
        answers.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
