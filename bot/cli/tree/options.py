"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path,
    typer.Option("--config", "-c", help="The configuration file.", envvar="DISCREET_CONFIG"),
]
DEFAULT_CONFIG = Path("config.yaml")
