package default
