"""Programs that make files of the packages; not installed. Run them from the root of the repository."""
