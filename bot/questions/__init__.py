"""Questions to people (FORM): asked, shown, answered once, and closed everywhere."""
