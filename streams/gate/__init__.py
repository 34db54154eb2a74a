"""The gate and the turn machine: pure code that decides which text may be released. No clock, no I/O, no asyncio."""
