"""How tools are called: the operator's functions in processes of their own, each call under its limit."""
