"""Tables on terminals of several widths."""

from __future__ import annotations

import pytest

from xingqiao.infra.cli import output

ID = "0" * 32
COLUMNS = ("start", "activation", "action", "kind", "status", "duration")
ROW = ("2026-11-22 21:00:00", ID, "monthly_invoices", "composition", "succeeded", "99 ms")


@pytest.fixture
def written(capsys, monkeypatch):
    """The lines of a table on a terminal of this width."""

    def write(width, columns, *rows):
        monkeypatch.setenv("COLUMNS", str(width))
        output.table(columns, rows, "nothing", width)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return write


def test_a_table_that_fits_has_a_line_for_each_row(written):
    width = sum(map(len, (ROW[0], ID, ROW[2], ROW[3], ROW[4], "duration"))) + 5 * 2

    assert len(written(width, COLUMNS, ROW)) == 2
    assert len(written(width - 1, COLUMNS, ROW)) == 4


def test_a_row_that_is_too_wide_takes_several_lines_and_no_word_is_broken(written):
    lines = written(80, COLUMNS, ROW, (*ROW[:2], "b", *ROW[3:]))

    assert max(map(len, lines)) <= 80
    assert lines[0] == f"start                {'activation'.ljust(32)}  action"
    assert lines[1] == "  kind         status     duration"
    assert lines[2] == f"2026-11-22 21:00:00  {ID}  monthly_invoices"
    assert lines[3] == "  composition  succeeded  99 ms"
    assert lines[4:] == [f"2026-11-22 21:00:00  {ID}  b", lines[3]]


def test_a_cell_wider_than_the_terminal_wraps_between_words(written):
    lines = written(20, ("id", "error"), ("1", "a long text that wraps"))

    assert lines[-2:] == ["  a long text that", "wraps"]


def test_without_rows_the_text_for_none_is_written(written):
    assert written(80, COLUMNS) == ["nothing"]


def test_a_timeline_keeps_its_times(capsys):
    entries = [
        {"seq": 1, "at": 0, "fiber": "0", "turn": 0, "type": "ExecutionStarted", "value": {}},
        {"seq": 2, "at": 5, "fiber": "0", "turn": 1, "type": "StepScheduled",
         "action": "/guest/generate_monthly_invoice_documents"},
        {"seq": 3, "at": 9, "fiber": "0", "turn": 1, "type": "StepFailed", "code": "E",
         "value": "many words " * 8},
    ]  # fmt: skip

    output.history(entries, 80)

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["+0", "ms"]
    assert lines[1].split()[:4] == ["+5", "ms", "4", "ms"]
    assert "generate_monthly_invoice_documents" in lines[1]
    assert max(map(len, lines)) <= 80
