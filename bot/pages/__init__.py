"""The hosted form (FORM-6): one small page behind a one-time link, and the same page inside Telegram (FORM-5)."""
