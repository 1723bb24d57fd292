def dump_tick(t): return {}
def load_tick(d): raise NotImplementedError
