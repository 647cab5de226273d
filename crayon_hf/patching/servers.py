"""`install` in model servers: the entry point for their plugins, which each server process calls when it starts.

vLLM finds it in the group ``vllm.general_plugins``, SGLang in ``sglang.srt.plugins``.
"""

from __future__ import annotations

import logging
import os

from crayon_hf.patching import install
from crayon_hf.patching.startup import LIBRARIES, libraries


def register() -> None:
    """Install in the libraries of ``CRAYON_INSTALL``, so that the server opens our tokenizers.

    The default is transformers; ``CRAYON_INSTALL=0`` changes nothing. An unknown name is a ValueError, which ends the
    server's start. Nothing is imported, and a second call changes nothing.

    >>> register()
    """
    wanted = libraries(os.environ.get("CRAYON_INSTALL"))
    if wanted:
        install(**{name: name in wanted for name in LIBRARIES})
        logging.getLogger("crayon_hf").info("installed in %s", ", ".join(wanted))
