"""Records of the hosted conductor: what is written in JSON is read as it was."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from xingqiao.infra.deploy.hosted.action_message import completion_token
from xingqiao.infra.deploy.hosted.records import (
    About,
    Answered,
    Begin,
    Cancel,
    Carried,
    GoOn,
    Part,
    Relay,
    TimerDue,
    Token,
    message_of,
)


def test_the_text_of_a_token_is_read_as_it_was_written():
    token = Token(execution="0f" * 16, fiber="0/12.3/4.0", turn=56)

    assert Token.from_text(completion_token(token.to_json())) == token
    assert "/" not in completion_token(token.to_json())


@pytest.mark.parametrize(
    "text",
    ["", "0f" * 15 + "0-1-0", "0F" * 16 + "-1-0", "0f" * 16 + "-1-0/1", "0f" * 16 + "-1-0\n"],
)
def test_any_other_text_is_no_token(text):
    assert Token.from_text(text) is None


ID = st.text("0123456789abcdef", min_size=32, max_size=32)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
OBJECTS = st.dictionaries(st.text(), VALUES)
TOKENS = st.builds(Token, execution=ID, fiber=st.just("0/1.2"), turn=st.integers(0))
CARRIED = st.builds(Carried, version=st.integers(1), about=OBJECTS, row=OBJECTS)
MESSAGES = st.one_of(
    st.builds(
        Begin, execution=ID, composition=st.just("/_/main"), depth=st.integers(0), given=st.none(),
        begins=VALUES | st.builds(Part, program=st.text(), fiber=OBJECTS), reply=st.none() | TOKENS,
    ),
    st.builds(Answered, token=TOKENS, outcome=VALUES, carried=st.none() | CARRIED),
    st.builds(TimerDue, execution=ID, fiber=st.just("0"), at_ms=st.integers(0)),
    st.builds(GoOn, execution=ID),
    st.builds(Cancel, execution=ID),
    st.builds(Relay, message=OBJECTS),
)  # fmt: skip


@given(MESSAGES)
def test_every_message_is_read_as_it_was_written(message):
    assert message_of(json.loads(json.dumps(message.to_json()))) == message


def test_a_message_of_a_later_version_is_none_that_is_known():
    assert message_of({"is": "later", "execution": "0f" * 16}) is None


def about(**fields):
    return About(
        composition="/_/main", program="p", started_ms=5, depth=1,
        reply=Token(execution="0f" * 16, fiber="0", turn=2), **fields,
    )  # fmt: skip


@pytest.mark.parametrize("written", [about(), about(given="a digest")])
def test_an_execution_is_read_as_it_was_written(written):
    assert About.from_json(written.to_json()) == written


def test_an_execution_of_an_earlier_version_has_no_key_of_a_caller():
    assert "given" not in about().to_json()
    assert About.from_json(about().to_json()).given is None
