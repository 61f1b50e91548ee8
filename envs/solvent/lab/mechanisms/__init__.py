"""The mechanisms: one a file, small pure functions of plain values. They know nothing of the lab's record."""
