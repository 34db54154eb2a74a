"""The first promise as properties: no split of an answer into frames shows text that the chain did not approve."""

from __future__ import annotations
