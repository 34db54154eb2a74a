"""What flows through turngate: wire records, topic names, codec, topic administration, the reader and the client."""
