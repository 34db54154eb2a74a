"""The model runner without Faust: makes each attempt's model call once, whatever dies in between."""
