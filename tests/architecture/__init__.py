"""Rules about the code itself: who may import what, and where the dangerous things are done."""
