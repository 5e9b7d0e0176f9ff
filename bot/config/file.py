"""Reading the configuration file, and making the folder that it names."""

import stat
from collections.abc import Mapping
from pathlib import Path

from bot.config.errors import ConfigError
from bot.config.settings import Config


def load_config(path: Path, environment: Mapping[str, str], *, idle: bool = False) -> Config:
    """Read the configuration; nothing is written or created.

    Args:
        path: of the file; paths in it are relative to its folder.
        environment: what ``${NAME}`` in it stands for.
        idle: it may name nothing to serve, as before the first login of an account.

    Raises:
        ConfigError: it can't be read or can't hold; the text has a line for each problem, without any secret.
    """
    from bot.config.document import build  # pydantic, which `discreet --help` must not wait for

    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no {path}. Make one with: discreet init") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}, byte {error.start}: this is no UTF-8. Save the file as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}. Mend its owner or its mode") from None
    return build(text, path=path, environment=environment, idle=idle)


def make_data_dir(path: Path) -> str | None:
    """Make the data folder, for its owner alone (0700).

    Returns:
        A warning with its mend, where others can look into a folder that was there already.

    Raises:
        ConfigError: it can't be made.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileExistsError:
        raise ConfigError(f"data_dir: {path} is no folder. Name another one") from None
    except OSError as error:
        raise ConfigError(f"data_dir: {path} can't be made: {error.strerror}. Mend the folder above it") from None
    return exposed(path, mode)


def exposed(path: Path, mode: int) -> str | None:
    """A warning where other users of the machine can get at something that holds messages or secrets."""
    if mode & 0o077 == 0:
        return None
    return f"{path} is open to other users of this machine. Mend it: chmod go= {path}"
