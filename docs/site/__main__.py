"""Builds the documentation site: `python -m docs.site`, from the top of the repository."""

from __future__ import annotations

import subprocess
import sys

from . import links, pages


def main() -> None:
    """Writes the pages, makes the site of them, and ends with 1 if a link leads nowhere."""
    pages.write(pages.BUILT)
    made = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=pages.ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if made.returncode:
        sys.exit(made.stdout + made.stderr)
    if found := links.problems(pages.SITE):
        sys.exit("\n".join(found))
    print(f"the site is in {pages.SITE.relative_to(pages.ROOT)}: open index.html")


if __name__ == "__main__":
    main()
