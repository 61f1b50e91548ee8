"""The review desk: a local page on which people see and decide what is pending."""
