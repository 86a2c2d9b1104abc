"""notebook.py: runs a notebook's cells, one after another, in its folder."""

import json
import os
import sys

os.chdir(os.path.dirname(sys.argv[1]))
with open(os.path.basename(sys.argv[1])) as f:
    cells = [c for c in json.load(f)["cells"] if c["cell_type"] == "code"]
names = {"__name__": "__main__"}
for cell in cells:
    exec(compile("".join(cell["source"]), "cell", "exec"), names)
if not names["accuracy"] > 0.9:
    sys.exit(f"accuracy {names['accuracy']}")
