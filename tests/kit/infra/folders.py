"""Files of a user, written for a command."""

from __future__ import annotations

DOUBLE = "def main(params):\n    print('doubling')\n    return {'n': 2 * params.get('n', 1)}\n"


def written(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
