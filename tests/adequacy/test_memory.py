"""What was worked out before is looked up: words in a bounded table, an object's properties in its own."""

from __future__ import annotations

from solvent.adequacy.memory import MOST, Memory, kept


def test_a_word_is_read_once_and_a_long_one_each_time() -> None:
    read: list[str] = []

    def upper(word: str) -> str:
        read.append(word)
        return word.upper()

    memory = Memory(upper, longest=3)
    assert [memory[word] for word in ("abc", "abc", "abcd", "abcd")] == ["ABC", "ABC", "ABCD", "ABCD"]
    assert read == ["abc", "abcd", "abcd"]
    assert list(memory) == ["abc"]


def test_a_memory_holds_a_bounded_number_of_words_and_answers_all() -> None:
    memory = Memory(int, longest=10)
    for i in range(2 * MOST + 5):
        assert memory[str(i)] == i
    assert len(memory) <= MOST
    assert memory["0"] == 0


class Square:
    def __init__(self, side: int) -> None:
        self.side = side
        self.worked_out = 0

    @kept
    def area(self) -> int:
        """Side by side."""
        self.worked_out += 1
        return self.side**2


def test_a_kept_property_is_worked_out_once_an_object() -> None:
    two, three = Square(2), Square(3)
    assert (two.area, two.area, three.area) == (4, 4, 9)
    assert (two.worked_out, three.worked_out) == (1, 1)
    assert isinstance(Square.area, kept)
    assert Square.area.__doc__ == "Side by side."
