"""A fenced, append-only journal in one partition of a compacted topic: keys, replay, and the writer with its fence.

Knows nothing of turns or of Faust: subjects have numbered rows, and whoever claimed the partition last may write.
"""
