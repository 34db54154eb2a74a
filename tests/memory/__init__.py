"""A broker in memory behind the shell's own protocols, a power switch, and a clock that only moves when told."""
