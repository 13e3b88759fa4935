"""Text of the code as Markdown."""

from __future__ import annotations

from docs.site.markdown import cell, code, docstring, plain


def documented():
    """Does `a_b` with *stars*.

    With an example:

        a_b(*[1])

    Args:
        one: the first,
            on two lines.
        two: the second.

    Raises:
        ValueError: never.
    """


def test_text_is_not_markup_and_code_stays_as_it_is():
    assert plain("a_b *c* <d> `e_f*`") == r"a\_b \*c\* \<d> `e_f*`"
    assert cell("a |\n b") == r"a \| b"
    assert code("a|b") == r"`a\|b`"
    assert code("a`b") == "``a`b``"


def test_sections_of_a_docstring_are_lists_and_indented_lines_code():
    assert docstring(documented).splitlines() == [
        r"Does `a_b` with \*stars\*.",
        "",
        "With an example:",
        "",
        "    a_b(*[1])",
        "",
        "**Arguments**",
        "",
        "- `one`: the first,",
        "  on two lines.",
        "- `two`: the second.",
        "",
        "**Errors**",
        "",
        "- `ValueError`: never.",
    ]
