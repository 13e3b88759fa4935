"""The check of a built site: every link leads to a page and a place on it, and nothing is fetched from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urldefrag, urlsplit

if TYPE_CHECKING:
    from pathlib import Path

_FETCHED = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
_SILENT = {
    "canonical",
    "alternate",
    "prev",
    "next",
}  # relations of links that a browser does not fetch


class _Page(HTMLParser):
    """The places of a page, the links from it, and the addresses that a browser fetches with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places |= {name for name in (given.get("id"), given.get("name")) if name}
        if tag == "a" and given.get("href"):
            self.links.add(str(given["href"]))
        address = given.get(_FETCHED.get(tag, ""))
        if address and given.get("rel") not in _SILENT:
            self.fetched.add(address)


def problems(site: Path) -> list[str]:
    """The broken links of a built site, and the files that its pages fetch from other hosts."""
    pages = {file: _Page(file.read_text("utf-8")) for file in sorted(site.rglob("*.html"))}
    found = []
    for file, page in pages.items():
        if file.name == "404.html":  # its links begin at the top of the host
            continue
        name = file.relative_to(site)
        found += [
            f"{name}: fetches {address}"
            for address in sorted(page.fetched)
            if urlsplit(address).netloc
        ]
        for link in sorted(page.links):
            address, place = urldefrag(link)
            if urlsplit(link).scheme:
                continue
            target = (file.parent / unquote(address)).resolve() if address else file
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{name}: there is no page {link}")
            elif place and target in pages and unquote(place) not in pages[target].places:
                found.append(f"{name}: there is no place {link}")
    return found
