"""The command line's entry: parse, run, turn errors into messages and exit codes.

Exit codes: 0 done; 1 nothing found where something was asked for; 2 a usage or input error;
130 stopped with Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cutaway import __version__
from cutaway.faces.cli.inert import inert


def run() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    if list(arguments) in (["--version"], ["-V"]):  # answered before anything is imported
        sys.stdout.write(f"cutaway {__version__}\n")
        return 0
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for plugins costs start-up time
    from cutaway.errors import CutawayError, NoteNotFound
    from cutaway.faces.cli.arguments import parser

    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()  # a reader that has gone is noticed here, not at exit
    except NoteNotFound as error:
        return _refused(str(error), 1)
    except CutawayError as error:
        return _refused(str(error), 2)
    except KeyboardInterrupt:
        return _refused("stopped; what was done so far is kept. Run the same command to go on.", 130)
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _refused(message: str, code: int) -> int:
    sys.stderr.write(f"cutaway: {inert(message)}\n")
    return code
