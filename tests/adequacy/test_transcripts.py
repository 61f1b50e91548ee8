"""Tool calls out of chat transcripts: parallel and failed calls, missing answers, contents as texts and as blocks."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.adequacy.errors import AdequacyError
from solvent.adequacy.tools import ToolContext
from solvent.adequacy.transcripts import read_anthropic, read_openai


def openai_call(key, name, arguments):
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


OPENAI: list[dict[str, Any]] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Is there a retry?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            openai_call("c1", "Grep", '{"pattern": "retry"}'),
            openai_call("c2", "Read", '{"file_path": "net.py"}'),
        ],
    },
    {
        "role": "tool",
        "tool_call_id": "c2",
        "content": [{"type": "text", "text": "def send():"}, {"type": "text", "text": "  pass"}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "No matches found"},
    {"role": "assistant", "content": "One moment.", "tool_calls": [openai_call("c3", "Read", "not json")]},
    {"role": "assistant", "content": "I found no retry."},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "Is there a retry?"},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "retry"}},
            {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "net.py"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": "no such file", "is_error": True},
            {
                "type": "tool_result",
                "tool_use_id": "t1",
                "content": [{"type": "text", "text": "net.py:3: retry"}, {"type": "image", "source": {}}],
            },
        ],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t3", "name": "Stop", "input": {}}]},
    {"role": "assistant", "content": "There is one."},
]


def test_openai_calls_come_in_their_order_with_the_answers_by_id():
    assert ToolContext.from_openai(OPENAI).to_dicts() == [
        {"name": "Grep", "arguments": {"pattern": "retry"}, "result": "No matches found"},
        {"name": "Read", "arguments": {"file_path": "net.py"}, "result": "def send():\n  pass"},
        {"name": "Read", "arguments": {"text": "not json"}, "result": None},
    ]


def test_anthropic_calls_come_in_their_order_with_the_answers_by_id():
    assert ToolContext.from_anthropic(ANTHROPIC).to_dicts() == [
        {"name": "Grep", "arguments": {"pattern": "retry"}, "result": "net.py:3: retry\n[image]"},
        {"name": "Read", "arguments": {"file_path": "net.py"}, "result": "no such file", "error": True},
        {"name": "Stop", "arguments": {}, "result": None},
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        (None, {}),
        ("{}", {}),
        ("[1, 2]", {"value": [1, 2]}),
        ('"a"', {"value": "a"}),
        ({"path": "a"}, {"path": "a"}),
        ("{broken", {"text": "{broken"}),
    ],
)
def test_openai_arguments_are_read_as_far_as_they_can_be(arguments, expected):
    messages = [{"role": "assistant", "tool_calls": [openai_call("c", "Read", arguments)]}]
    assert ToolContext.from_openai(messages).calls[0].arguments == expected


def test_arguments_that_are_nested_too_deep_are_kept_as_text():
    deep = "[" * 100_000
    messages = [{"role": "assistant", "tool_calls": [openai_call("c", "Read", deep)]}]
    assert ToolContext.from_openai(messages).calls[0].arguments == {"text": deep}


@pytest.mark.parametrize(
    ("content", "expected"),
    [("text", "text"), ("", ""), (None, ""), ([], ""), (["a", {"type": "text", "text": "b"}], "a\nb")],
)
def test_an_answer_is_a_text_nothing_or_blocks(content, expected):
    block = {"type": "tool_result", "tool_use_id": "t", "content": content}
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
        {"role": "user", "content": [block]},
    ]
    assert ToolContext.from_anthropic(messages).calls[0].result == expected
    chat = [
        {"role": "assistant", "tool_calls": [openai_call("t", "Read", "{}")]},
        {"role": "tool", "tool_call_id": "t", "content": content},
    ]
    assert ToolContext.from_openai(chat).calls[0].result == expected


def test_an_answer_without_content_is_one_that_returned_nothing():
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Write", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ]
    assert ToolContext.from_anthropic(messages).calls[0].result == ""


def test_an_id_that_is_used_again_belongs_to_the_later_call():
    turn = [
        {"role": "assistant", "tool_calls": [openai_call("c", "Read", "{}")]},
        {"role": "tool", "tool_call_id": "c", "content": "one"},
    ]
    later = [turn[0], {"role": "tool", "tool_call_id": "c", "content": "two"}]
    found = ToolContext.from_openai([*turn, *later]).calls
    assert [call.result for call in found] == ["one", "two"]


def test_no_messages_are_no_calls():
    assert ToolContext.from_openai([]) == ToolContext.from_anthropic([]) == ToolContext()
    assert ToolContext.from_openai(iter([{"role": "user", "content": "hi"}])) == ToolContext()


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("text", "messages: got 'text'"),
        (3, "messages: got 3"),
        ({"role": "user"}, "messages: got"),
        (["text"], r"messages\[0\]: got 'text'"),
        ([{"role": "assistant", "tool_calls": "x"}], r"messages\[0\].tool_calls: got 'x'"),
        ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], r"tool_calls\[0\]: got"),
        ([{"role": "assistant", "tool_calls": [openai_call("c", "", "{}")]}], "name: got ''"),
        ([{"role": "tool", "tool_call_id": "c", "content": "x"}], r"messages\[0\]: got an answer to 'c'"),
        (
            [
                {"role": "assistant", "tool_calls": [openai_call("c", "Read", "{}")]},
                {"role": "tool", "tool_call_id": "c", "content": 3},
            ],
            r"messages\[1\].content: got 3",
        ),
    ],
)
def test_openai_messages_of_another_form_are_refused(messages, message):
    with pytest.raises(AdequacyError, match=message):
        ToolContext.from_openai(messages)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"type": "tool_use", "id": "t", "name": "", "input": {}}], "name: got ''"),
        ([{"type": "tool_use", "id": "t", "name": "Read", "input": "x"}], "arguments: got 'x'"),
        (
            [{"type": "tool_result", "tool_use_id": "t", "content": "x"}],
            r"content\[0\]: got an answer to 't'",
        ),
        (
            [
                {"type": "tool_use", "id": "t", "name": "Read", "input": {}},
                {"type": "tool_result", "tool_use_id": "t", "content": [3]},
            ],
            "got the block 3",
        ),
    ],
)
def test_anthropic_blocks_of_another_form_are_refused(content, message):
    with pytest.raises(AdequacyError, match=message):
        ToolContext.from_anthropic([{"role": "assistant", "content": content}])


def test_tools_that_the_server_runs_are_calls():
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "retry httpx"}}
    page = {
        "type": "web_search_result",
        "title": "Retries",
        "url": "https://example.org",
        "text": "It retries.",
    }
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]}
    messages = [{"role": "assistant", "content": [search, found, {"type": "text", "text": "It retries."}]}]
    (call,) = read_anthropic(messages)
    assert call == {"name": "web_search", "arguments": {"query": "retry httpx"}, "result": "It retries."}


def test_the_older_function_call_is_a_call():
    messages = [
        {"role": "user", "content": "Is it there?"},
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "grep", "arguments": '{"pattern": "x"}'},
        },
        {"role": "function", "name": "grep", "content": "x.py:1: x"},
        {"role": "assistant", "content": "It is in x.py."},
    ]
    assert read_openai(messages) == [{"name": "grep", "arguments": {"pattern": "x"}, "result": "x.py:1: x"}]
    with pytest.raises(AdequacyError, match="an answer to 'function sed'"):
        read_openai([*messages[:2], {"role": "function", "name": "sed", "content": ""}])
