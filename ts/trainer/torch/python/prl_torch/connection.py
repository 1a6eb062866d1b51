"""
The line protocol with the launcher (`ts/trainer/torch/worker-group.ts`): JSON lines over a Unix socket, one connection for each rank.

The rank says who it is; then each line from the launcher is a call `{"id", "op", ...arguments}`, and each is answered in order by
`{"id", "result"}` or `{"id", "error": {"code", "message"}}`. Between answers a thread writes signs of life, `{"alive": place}`: where the
main thread is in this package. They also come while it waits for other ranks. When the launcher is gone, the process ends at once.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

GONE = 1
"""Exit code of a rank whose launcher is gone."""
ALIVE_SECONDS = 2.0
PACKAGE = str(Path(__file__).parent)


class Connection:
    """Calls are read in a thread of this process, so that the end of the launcher is seen while a step is computed."""

    def __init__(self, path: str, rank: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        # The launcher sends a call when the one before it is answered, or when another rank has failed it, so this holds few.
        self._calls: queue.Queue[dict[str, Any]] = queue.Queue()
        self._sending = threading.Lock()
        self.send({"rank": rank, "pid": os.getpid()})
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._live, daemon=True).start()

    def next_call(self) -> dict[str, Any]:
        return self._calls.get()

    def send(self, message: dict[str, Any]) -> None:
        try:
            with self._sending:
                self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            os._exit(GONE)

    def _live(self) -> None:
        while True:
            time.sleep(ALIVE_SECONDS)
            self.send({"alive": place_of_main_thread()})

    def _read(self) -> None:
        with self._socket.makefile("r", encoding="utf-8") as lines:
            try:
                for line in lines:
                    self._calls.put(json.loads(line))
            except OSError:
                pass
        os._exit(GONE)


def place_of_main_thread() -> str:
    """The innermost function of this package that the main thread is in, with its file and line."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            return f"{Path(code.co_filename).name}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return "the start of Python"
