"""The check of a built site."""

from __future__ import annotations

import pytest

from docs.site.links import problems


@pytest.fixture
def site(tmp_path):
    def write(**pages):
        for name, text in pages.items():
            (tmp_path / f"{name}.html").write_text(text, "utf-8")
        return tmp_path

    return write


def test_a_site_whose_links_lead_somewhere_has_no_problems(site):
    index = (
        '<a href="b.html#here">b</a><a href="https://example.com/gone">e</a><a href="#top">t</a>'
    )

    assert problems(site(index=f'<p id="top">{index}</p>', b='<h2 id="here">Here</h2>')) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<a href="gone.html">g</a>', "there is no page gone.html"),
        ('<a href="b.html#gone">g</a>', "there is no place b.html#gone"),
        ('<a href="#gone">g</a>', "there is no place #gone"),
        ('<script src="https://cdn.example/a.js"></script>', "fetches https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', "fetches //fonts.example/a.css"),
        ('<img src="http://images.example/a.png">', "fetches http://images.example/a.png"),
    ],
)
def test_a_broken_link_and_a_file_from_elsewhere_are_found(site, text, problem):
    assert problems(site(index=text, b="")) == [f"index.html: {problem}"]


def test_a_folder_is_its_index(site, tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "index.html").write_text("")

    assert problems(site(index='<a href="below/">b</a>')) == []
