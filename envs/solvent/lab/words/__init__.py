"""The lab's words: what can stand on a page, what a finding can say, and what was measured of both."""
