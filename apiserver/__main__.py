"""`mini-apiserver`: reads the flags and becomes the supervisor of the workers.

Whatever is wrong with the flags, the files or the port is said in one line, and the exit code is not zero.
"""

from __future__ import annotations

import sys

from apiserver import config, supervisor


def main() -> int:
    arguments = sys.argv[1:]
    try:
        return supervisor.Supervisor(config.parse(arguments), load_worker).run()
    except config.ConfigError as error:
        sys.stderr.write(f"mini-apiserver: {error}\n")
        return 2
    except supervisor.PortTaken as error:
        sys.stderr.write(f"mini-apiserver: {error}\n")
        return 1


def load_worker() -> supervisor.Serve:
    """The import that costs most of a start."""
    from apiserver import worker

    return worker.main


if __name__ == "__main__":
    sys.exit(main())
