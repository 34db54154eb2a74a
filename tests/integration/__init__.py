"""The whole pipeline on real brokers: real worker processes, real records, real deaths."""
