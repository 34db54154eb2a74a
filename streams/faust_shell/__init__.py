"""The only package that imports Faust: a consumer, a recovery and a table that keep what the journal needs, and the apps.

Each override here exists for one measured reason, written beside it; `tests/streams/faust_shell/test_pins.py` fails when
the Faust code under an override changes.
"""
