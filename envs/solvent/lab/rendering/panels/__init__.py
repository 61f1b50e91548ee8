"""Panels, one a mechanism: its words, its lines for the terminal and its drawing for the picture, side by side."""
