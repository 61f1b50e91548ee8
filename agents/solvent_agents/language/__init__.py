"""The lab for language models: its actions as tools, its results as text."""
