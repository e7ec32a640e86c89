"""Ctrl-C is not lost where Python drops what is raised.

Python raises KeyboardInterrupt in whatever the main thread does. What is raised in a finalizer, in the callback that
frees the lock of a module after its import, or in a callback that the compiler's C code makes, is printed at most, and
forgotten. There it waits a moment.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from types import FrameType

AGAIN_S = 0.01
"""Seconds until it is tried again."""

_UNHEARD = (
    ("", "__del__"),
    ("gzip.py", ".close"),  # a reader that is left half way is closed when it is freed
    ("<frozen importlib._bootstrap>", "_get_module_lock.<locals>.cb"),
    ("weakref.py", "__init__.<locals>.remove"),
    ("_weakrefset.py", "__init__.<locals>._remove"),
    ("executionengine.py", "_raw_object_cache_notify"),
    ("executionengine.py", "_raw_object_cache_getbuffer"),
)
"""Ends of the files' and functions' names in which an exception is lost."""


def hear() -> None:
    """Answer Ctrl-C as Python does, but where nobody would hear of it, a moment later."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored, as with nohup
        signal.signal(signal.SIGINT, interrupt)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, here or, where it would be lost, soon."""
    if not _is_lost(frame):
        signal.default_int_handler(number, frame)
    _thread.start_new_thread(_again, (number,))


def _again(number: int) -> None:
    time.sleep(AGAIN_S)
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, number)


def _is_lost(frame: FrameType | None) -> bool:
    """Tell whether what is raised here is forgotten."""
    while frame is not None:
        code = frame.f_code
        if any(code.co_filename.endswith(file) and code.co_qualname.endswith(name) for file, name in _UNHEARD):
            return True
        frame = frame.f_back
    return False
