"""The plugin for model servers. Each process of a server calls `register` when it starts, and so gets our tokenizers.

vLLM finds the entry point in the group ``vllm.general_plugins``, SGLang in ``sglang.srt.plugins``.
"""

from __future__ import annotations

import logging
import os

from crayon_hf.patching import install
from crayon_hf.patching.startup import LIBRARIES, libraries


def register() -> None:
    """Call `install` for the libraries that the variable ``CRAYON_INSTALL`` names, so that they open our tokenizers.

    The default is transformers; ``CRAYON_INSTALL=0`` changes nothing. An unknown name raises ValueError, so the server
    does not start. No library is imported, and a second call changes nothing.

    >>> register()
    """
    wanted = libraries(os.environ.get("CRAYON_INSTALL"))
    if wanted:
        install(**{name: name in wanted for name in LIBRARIES})
        logging.getLogger("crayon_hf").info("installed in %s", ", ".join(wanted))
