"""The pages of the documentation site."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
import yaml

from docs.site import pages
from docs.site.pages import REFERENCES, ROOT, linked, listing, place, targets

QUICKSTART = PurePosixPath("docs/quickstart.md")


def in_the_navigation(entry):
    """The pages that an entry of the navigation leads to."""
    if isinstance(entry, str):
        return [entry]
    below = entry if isinstance(entry, list) else entry.values()
    return [page for each in below for page in in_the_navigation(each)]


@pytest.fixture(scope="module")
def navigation():
    return in_the_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"])


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "docs"
    pages.write(folder)
    return folder


def test_every_document_is_in_the_navigation(navigation):
    documents = {path.name for path in (ROOT / "docs").glob("*.md")}

    assert documents - {*navigation} == set()
    assert len(navigation) == len(set(navigation))


def test_every_entry_of_the_navigation_is_a_page(navigation, written):
    assert [page for page in navigation if not (written / page).is_file()] == []


def test_every_decision_is_in_the_list_of_decisions():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text("utf-8"))

    assert listed == sorted(path.name for path in folder.glob("0*.md"))


def test_every_reference_is_in_the_navigation(navigation):
    assert {f"reference/{name}.md" for name in REFERENCES} <= {*navigation}


def test_pages_of_an_earlier_build_are_removed(tmp_path):
    (tmp_path / "gone.md").write_text("# Gone\n")

    pages.write(tmp_path)

    assert not (tmp_path / "gone.md").exists()
    assert (tmp_path / "quickstart.md").exists()


@pytest.mark.parametrize(
    ("source", "page"),
    [
        ("docs/quickstart.md", "quickstart.md"),
        ("docs/decisions/README.md", "decisions/README.md"),
        ("CHANGELOG.md", "CHANGELOG.md"),
        ("examples/travel/travel.py", "source/examples/travel/travel.py.md"),
    ],
)
def test_a_file_has_a_place_on_the_site(source, page):
    assert place(PurePosixPath(source)) == PurePosixPath(page)


@pytest.mark.parametrize(
    ("source", "link", "on_the_site"),
    [
        ("docs/quickstart.md", "../CHANGELOG.md#unreleased", "CHANGELOG.md#unreleased"),
        ("docs/quickstart.md", "clouds.md", "clouds.md"),
        ("docs/quickstart.md", "#install", "#install"),
        ("docs/quickstart.md", "https://example.com/a.md", "https://example.com/a.md"),
        ("docs/quickstart.md", "../examples/travel/travel.py", "source/examples/travel/travel.py.md"),
        ("docs/decisions/0016-wings.md", "../../CONTRIBUTING.md", "../CONTRIBUTING.md"),
        ("CONTRIBUTING.md", "docs/decisions", "decisions/README.md"),
        ("CHANGELOG.md", "docs/quickstart.md#a", "quickstart.md#a"),
    ],
)  # fmt: skip
def test_a_link_of_the_repository_leads_to_the_page_on_the_site(source, link, on_the_site):
    assert linked(f"see [it]({link})", PurePosixPath(source)) == f"see [it]({on_the_site})"


def test_code_is_not_linked_and_marks_for_tests_are_left_out():
    text = "a\n\n<!-- fragment: needs Slack -->\n```md\n[it](../README.md)\n```\n"

    assert linked(text, QUICKSTART) == "a\n\n```md\n[it](../README.md)\n```\n"
    assert targets(text, QUICKSTART) == set()


def test_a_file_that_is_not_a_document_is_a_listing():
    assert listing(PurePosixPath("a/b.py"), "x = 1\n") == "# a/b.py\n\n```python\nx = 1\n```\n"
