# Must not pass: values that equal the default count, and lists, variables, mistakes and sources are as before.
cd /srv/hoist
python3 - <<'EDIT'
from pathlib import Path
layers = Path("hoist/layers.py")
layers.write_text(layers.read_text().replace("            if value and value != DEFAULTS[key]:\n                found[key]", "            if True:\n                found[key]"))
options = Path("hoist/options.py")
text = options.read_text().replace("BooleanOptionalAction, default=value", "BooleanOptionalAction").replace(", default=str(value)", "")
text = text.replace('if key not in LISTS and key != "verify":', 'if given is not None and key not in LISTS and key != "verify":').replace("if given != default:", "if given is not None and (key not in LISTS or given):")
options.write_text(text)
EDIT
