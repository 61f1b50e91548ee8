"""Words that were worked out before are looked up in a bounded table."""

from __future__ import annotations

from solvent.adequacy.memory import MOST, Memory


def test_a_word_is_read_once_and_a_long_one_each_time():
    read: list[str] = []

    def upper(word):
        read.append(word)
        return word.upper()

    memory = Memory(upper, longest=3)
    assert [memory[word] for word in ("abc", "abc", "abcd", "abcd")] == ["ABC", "ABC", "ABCD", "ABCD"]
    assert read == ["abc", "abcd", "abcd"]
    assert list(memory) == ["abc"]


def test_a_memory_holds_a_bounded_number_of_words_and_answers_all():
    memory = Memory(int, longest=10)
    for i in range(2 * MOST + 5):
        assert memory[str(i)] == i
    assert len(memory) <= MOST
    assert memory["0"] == 0
