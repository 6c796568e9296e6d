"""Write a catalogue's files in the encodings of their time, and the text that they stand for."""

from __future__ import annotations

import os
import random
import unicodedata
from pathlib import Path

HOME = Path("/srv/catalogue")
WEST = ("Camille Saint-Saëns", "Gabriel Fauré", "Hugo Alfvén", "Wilhelm Stenhammar", "Otto Olsson",
        "Edvard Grieg", "Niels W. Gade", "Rued Langgaard", "Åke Malmfors", "Östen Warnerbring",
        "Ärland Hök", "François Couperin", "Hjálmar Ragnarsson", "Heinrich Schütz", "Max Reger",
        "Björn Söderquist", "Ägidius Götz", "Frédéric Héroux", "Jón Leifs", "Knut Nystedt",
        "Per Nørgård", "André Caplet", "Carl-Åxel Weiß", "Günter Raphael", "Ole Ærø")  # fmt: skip
EAST = ("Antonín Dvořák", "Leoš Janáček", "Zoltán Kodály", "Bohuslav Martinů", "Petr Eben",
        "Mikołaj Zieleński", "Jiří Laburda", "Zdeněk Lukáš", "Györgi Őry", "Ľubica Čekovská",
        "Stanisław Moniuszko", "Grażyna Bacewicz")  # fmt: skip
TITLES_WEST = ("Ave verum", "Calme des nuits", "Stämning", "Jul, jul, strålande jul", "Sommarpsalm",
               "Uti vår hage", "Från där till här", "Ég veit eina baugalínu", "Weißt du, wie viel",
               "O Täler weit, o Höhen", "Gammal fäbodpsalm", "Våren", "Tonerna", "Noël nouvelet",
               "Jeg ser dig søde lam", "Bön för fred", "Kärleksvisa", "Ön i natten")  # fmt: skip
TITLES_EAST = ("Otče náš", "Esti dal", "Bogurodzica", "Česká písnička", "Túrót ëszik a cigány",
               "Ej, lúčka, lúčka", "Śpiew o miłości", "Večer u řeky", "Żale")  # fmt: skip
ODD = {chr(byte): bytes([byte]) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
PROGRAMS = {
    "Notis": ("cp850", "\r\n", WEST, TITLES_WEST),
    "Claris": ("mac_roman", "\r", WEST, TITLES_WEST),
    "KörReg": ("cp1252", "\r\n", WEST, TITLES_WEST),
    "Praha": ("iso8859_2", "\n", EAST, TITLES_EAST),
    "Unipad": ("utf-16-le", "\r\n", WEST + EAST, TITLES_WEST + TITLES_EAST),
    "the web form": ("utf-8", "\n", WEST + EAST, TITLES_WEST + TITLES_EAST),
    "the new Mac": ("utf-8", "\n", WEST + EAST, TITLES_WEST + TITLES_EAST),
}
CUPBOARDS = (
    *(("Notis", ""), ("Notis", "added to"), ("Claris", ""), ("KörReg", ""), ("KörReg", "added to")),
    *(("Praha", ""), ("Praha", "added to"), ("Unipad", ""), ("the web form", "marked")),
    *(("the web form", "mended"), ("the web form", "twice mended"), ("the new Mac", "")),
)
LATER = {
    "": "",
    "added to": ", later added to with the web form",
    "marked": ", saved with a Windows editor that added a byte order mark",
}
PLACES = ("attic", "vestry", "tower", "kitchen", "cellar", "office", "stairs", "loft", "sacristy",
          "rehearsal", "corridor", "crypt", "porch", "library")  # fmt: skip


def seen_as_1252(text: str) -> str:
    """Return what Windows shows of a text's UTF-8."""
    return "".join(
        chr(byte) if chr(byte) in ODD else bytes([byte]).decode("cp1252") for byte in text.encode()
    )


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Catalogue:
    """Draws lines, each with a number of its own."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.numbers = rng.sample(range(100, 4_000), 900)

    def line(self, composers: tuple[str, ...], titles: tuple[str, ...]) -> str:
        rng = self.rng
        first, _, last = rng.choice(composers).rpartition(" ")
        number = rng.choice(["", "", f" {rng.choice(['I', 'II', 'III'])}"])
        title = rng.choice(titles) + number
        return f"{self.numbers.pop()};{last}, {first};{title};{rng.randint(8, 60)}"

    def typed(self, program: str, count: int) -> list[tuple[str, bytes]]:
        """Return lines that a program can write, with the bytes it writes them as."""
        encoding, end, composers, titles = PROGRAMS[program]
        lines: list[tuple[str, bytes]] = []
        while len(lines) < count:
            text = self.line(composers, titles)
            if not lines and unicodedata.is_normalized("NFD", text):
                continue  # a file without accents could stay as it is
            try:
                data = (text + end).encode(encoding)
            except UnicodeEncodeError:  # nobody could type that there
                continue
            if encoding.startswith("utf") or text.isascii() or not is_utf8(data):
                lines.append((text, data))
        return lines

    def write(self, name: str, program: str, fate: str) -> list[str]:
        """Write one file; return its true lines."""
        lines = self.typed(program, self.rng.randint(16, 40))
        if fate == "added to":
            for added in self.typed("the web form", 5):
                lines.insert(self.rng.randint(1, len(lines)), added)
        text = [line for line, _ in lines]
        data = b"".join(written for _, written in lines)
        if program == "Unipad":
            data = b"\xff\xfe" + data
        if fate == "marked":
            data = b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")
        if program == "the new Mac":
            data = unicodedata.normalize("NFD", data.decode()).encode()
        for _ in range({"mended": 1, "twice mended": 2}.get(fate, 0)):
            data = seen_as_1252(data.decode()).encode()
        (HOME / "old" / name).write_bytes(data)
        return text


def index_key(line: str) -> tuple[str, str, int]:
    number, composer, title, _ = line.split(";")
    return order(composer), order(title), int(number)


def order(text: str) -> str:
    """Return what sorts as in the printed index: å, ä and ö become what follows z in ASCII."""
    out = ""
    for letter in unicodedata.normalize("NFC", text.lower()):
        plain = {"å": "{", "ä": "|", "æ": "|", "ö": "}", "ø": "}", "ß": "ss", "ł": "l"}.get(letter)
        out += plain or unicodedata.normalize("NFD", letter)[0]
    return "".join(letter for letter in out if letter not in ".,-'")


def main() -> None:
    setup, gold = Path(os.environ["AGENTGYM_SETUP"]), Path(os.environ["AGENTGYM_GOLD"])
    rng = random.Random(
        f"mojibake-catalogue {os.environ['PARAM_SINCE']} {os.environ['PARAM_SEED']}"
    )
    catalogue = Catalogue(rng)
    year, said, everything = int(os.environ["PARAM_SINCE"]), [], []
    (gold / "clean").mkdir()
    for place, (program, fate) in zip(rng.sample(PLACES, len(CUPBOARDS)), CUPBOARDS, strict=True):
        name = f"{place}.csv"
        lines = catalogue.write(name, program, fate)
        (gold / "clean" / name).write_text("".join(f"{line}\n" for line in lines))
        year += rng.randint(1, 3)
        later = LATER.get(fate, f", {fate}")
        said.append(f"- `{name}`: {year}, {program}{later}")
        everything += lines
    index = "".join(f"{line}\n" for line in sorted(everything, key=index_key))
    (gold / "index.csv").write_text(index)
    rng.shuffle(said)
    text = (setup / "HISTORY.md").read_text().replace("{cupboards}", "\n".join(said))
    (HOME / "HISTORY.md").write_text(text)


main()
