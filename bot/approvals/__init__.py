"""Approvals and drafts: nothing with consequences happens without a person (APPR, AUTO-6 and 7)."""
