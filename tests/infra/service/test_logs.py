"""The log: its forms, and a reader that stops reading."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading

import pytest

from xingqiao.infra.service.logs import JsonFormatter, StreamThread, set_up_logs


@pytest.fixture
def record():
    return logging.LogRecord("a.logger", logging.WARNING, __file__, 1, "%d of %s", (1, "two"), None)


@pytest.fixture
def root():
    """The root logger, put back as it was afterwards."""
    logger = logging.getLogger()
    before = logger.handlers[:], logger.level
    yield logger
    for handler in logger.handlers:
        if handler not in before[0]:
            handler.close()
    logger.handlers[:], logger.level = before


def test_a_line_of_json_says_when_who_and_what(record):
    record.created = 1_700_000_000.25

    assert json.loads(JsonFormatter().format(record)) == {
        "at": "2023-11-14T22:13:20.250+00:00",
        "level": "warning",
        "logger": "a.logger",
        "message": "1 of two",
    }


def test_what_is_given_besides_stands_in_the_line_whatever_it_is(record):
    record.execution, record.thing = "e1", {1, 2}.__class__

    line = json.loads(JsonFormatter().format(record))

    assert line["execution"] == "e1"
    assert line["thing"] == "<class 'set'>"


def test_an_error_is_one_line_with_its_traceback(record):
    try:
        int("no\nluck")
    except ValueError:
        record.exc_info = sys.exc_info()

    text = JsonFormatter().format(record)

    assert "\n" not in text
    assert "ValueError: invalid literal" in json.loads(text)["exception"]


def test_a_text_of_half_a_character_is_logged(record):
    record.args = (1, "\ud800")
    record.note = "\udfff"

    line = json.loads(JsonFormatter().format(record))

    assert line["message"].startswith("1 of ")


@pytest.mark.parametrize("form", ["text", "json"])
def test_logs_go_to_standard_error_in_the_form_that_is_asked_for(form, root, capsys):
    set_up_logs(form)

    logging.getLogger("some.module").info("hello %s", "there")
    logging.getLogger("some.module").debug("nothing")
    logging.getLogger("botocore.credentials").info("Found credentials in a file.")

    root.handlers[0].flush()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    if form == "json":
        assert json.loads(err)["message"] == "hello there"
    else:
        assert err.endswith(" INFO    some.module  hello there\n")
    assert len(root.handlers) == 1


class StalledStream(io.StringIO):
    """A stream whose reader reads nothing until it is released."""

    def __init__(self):
        super().__init__()
        self.entered, self.released = threading.Event(), threading.Event()

    def write(self, text):
        self.entered.set()
        assert self.released.wait(10)
        return super().write(text)


def test_a_reader_that_stops_reading_stops_nobody(record):
    stream = StalledStream()
    handler = StreamThread(stream, lines=3)
    handler.handle(record)
    assert stream.entered.wait(10)  # the first line is being written

    for _ in range(10):
        handler.handle(record)
    stream.released.set()
    handler.close()

    lines = stream.getvalue().splitlines()
    assert lines[:4] == ["1 of two"] * 4
    assert lines[4:] == ["7 log lines were dropped because standard error was not read"]


def test_as_many_lines_as_may_wait_are_all_written(record):
    stream = StalledStream()
    handler = StreamThread(stream, lines=3)
    handler.handle(record)
    assert stream.entered.wait(10)

    for _ in range(3):
        handler.handle(record)
    stream.released.set()
    handler.close()

    assert stream.getvalue().splitlines() == ["1 of two"] * 4


def test_a_reader_that_has_gone_away_stops_nobody(record):
    stream = io.StringIO()
    stream.close()
    handler = StreamThread(stream)

    handler.handle(record)
    handler.close()


def test_a_line_that_cannot_be_formatted_is_reported_and_the_next_is_written(record, capsys):
    stream = io.StringIO()
    handler = StreamThread(stream)
    broken = logging.LogRecord("a.logger", logging.WARNING, __file__, 1, "%d", ("one",), None)

    handler.handle(broken)
    handler.handle(record)
    handler.close()

    assert "Logging error" in capsys.readouterr().err
    assert stream.getvalue() == "1 of two\n"
