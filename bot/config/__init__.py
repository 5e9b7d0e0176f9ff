"""The configuration: what this machine needs to know (tokens, addresses, agents); who may do what is the policy's."""

from bot.config.errors import ConfigError, DiscreetError
from bot.config.file import load_config, make_data_dir
from bot.config.secret import Secret
from bot.config.settings import Config

__all__ = ["Config", "ConfigError", "DiscreetError", "Secret", "load_config", "make_data_dir"]
