"""The tree of commands. Help is written here; what the commands do stands in the modules beside."""
