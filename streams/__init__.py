"""turngate's moving parts: the pure gate, the journal, the turn worker, the model runner, and what wires them to Kafka."""
