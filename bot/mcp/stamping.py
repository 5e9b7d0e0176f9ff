"""What streamable HTTP wants in headers beside a message: the protocol's version, the method, names (MCP 2026-07-28).

Clients say it to us on standard input, in the messages themselves; here it is read out of them again.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage


class Stamps:
    """Makes the headers of messages to one server."""

    def __init__(self) -> None:
        self._version: str | None = None
        self._headers_of: dict[str, Mapping[Any, Any]] = {}

    def listed(self, result: Mapping[str, Any]) -> None:
        """A list of tools has gone by: some want arguments in headers, too."""
        from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

        tools = result.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and isinstance(tool.get("name"), str):
                schema = tool.get("inputSchema")
                if isinstance(schema, dict) and find_invalid_x_mcp_header(schema) is None:
                    self._headers_of[tool["name"]] = x_mcp_header_map(schema)

    def agreed(self, result: Mapping[str, Any]) -> None:
        """A handshake has gone by (versions before 2026-07-28)."""
        version = result.get("protocolVersion")
        if isinstance(version, str):
            self._version = version

    def headers(self, message: "JSONRPCMessage") -> dict[str, str]:
        """The headers of a message."""
        from mcp.shared.inbound import (
            MCP_METHOD_HEADER,
            MCP_NAME_HEADER,
            MCP_PROTOCOL_VERSION_HEADER,
            NAME_BEARING_METHODS,
            encode_header_value,
            mcp_param_headers,
        )
        from mcp_types import PROTOCOL_VERSION_META_KEY

        method = getattr(message, "method", None)
        params: Mapping[str, Any] = getattr(message, "params", None) or {}
        meta = params.get("_meta")
        version = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
        if method is None or not isinstance(version, str):
            known = None if method == "initialize" else self._version
            return {} if known is None else {MCP_PROTOCOL_VERSION_HEADER: known}
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
            if method == "tools/call" and name in self._headers_of:
                headers |= mcp_param_headers(self._headers_of[name], params.get("arguments") or {})
        return headers
