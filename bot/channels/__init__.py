"""One adapter a platform; they never import each other."""
