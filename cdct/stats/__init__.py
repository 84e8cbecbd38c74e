"""Statistics as functions: arrays or frames in, estimates with intervals out. They know no benchmark and no plot."""
