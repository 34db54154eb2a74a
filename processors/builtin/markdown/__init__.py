"""Markdown, as models write it, in what a channel can show."""
