"""The turn worker without Faust: what it does with records, in which order, and whom it asks to do the slow things."""
