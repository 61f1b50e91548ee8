"""The words of the lab: the catalogue of sentences, their measurements, pages and the tool log."""
