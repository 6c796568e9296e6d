# Must not pass: the library gets its old functions back, in the copy that must stay as it is.
cd /srv/quay
cat >> fieldkit/__init__.py <<'CODE'


def parse(text):
    return {field.name: field.raw for field in Record.from_text(text).fields}


def dump(records, file):
    file.write("\n".join("".join(f"{k}: {v}\n" for k, v in r.items()) for r in records))


__all__ += ["parse", "dump"]
CODE
