"""First thing that runs inside the cell: gives up rights, takes on limits, then runs the code.

Is copied into the cell as a file and imports the standard library only; never imported by us.
"""

import json
import os
import resource
import runpy
import sys


def main() -> None:
    order = json.loads(sys.argv[1])
    os.nice(order["nice"])
    for name, value in order["limits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        bounded = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(number, (bounded, bounded))
    if order["uid"] is not None:
        os.setgroups([])
        os.setresgid(order["uid"], order["uid"], order["uid"])
        os.setresuid(order["uid"], order["uid"], order["uid"])
    sys.argv = ["main.py"]
    runpy.run_path("/sandbox/main.py", run_name="__main__")


if __name__ == "__main__":
    main()
