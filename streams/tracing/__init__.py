"""Traces of turns, where the operator wants them: what spans there are, how they are told apart, where they go.

Nothing here is on a turn's way. Spans follow from what is journaled and confirmed, their ids from what they are about:
whoever says a thing again after a crash says it with the same id.
"""
