"""Keys of a Matrix device: what is read and written in encrypted rooms, who gets keys, and whom other clients trust."""
