"""
The line protocol with the launcher (`ts/trainer/torch/worker-group.ts`): JSON lines over a Unix socket, one connection for each rank.

The rank says who it is; then each line from the launcher is a call `{"id", "op", ...arguments}`, and each is answered in order by
`{"id", "result"}` or `{"id", "error": {"code", "message"}}`. When the launcher is gone, the process ends at once.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import threading
from typing import Any

GONE = 1
"""Exit code of a rank whose launcher is gone."""


class Connection:
    """Calls are read in a thread of this process, so that the end of the launcher is seen while a step is computed."""

    def __init__(self, path: str, rank: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        # The launcher sends a call when the one before it is answered, so this holds one.
        self._calls: queue.Queue[dict[str, Any]] = queue.Queue()
        self.send({"rank": rank, "pid": os.getpid()})
        threading.Thread(target=self._read, daemon=True).start()

    def next_call(self) -> dict[str, Any]:
        return self._calls.get()

    def send(self, message: dict[str, Any]) -> None:
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            os._exit(GONE)

    def _read(self) -> None:
        with self._socket.makefile("r", encoding="utf-8") as lines:
            try:
                for line in lines:
                    self._calls.put(json.loads(line))
            except OSError:
                pass
        os._exit(GONE)
