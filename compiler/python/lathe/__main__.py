"""__main__.py: `python3 -m lathe wheel …`; anything else is the command lathe's."""

import os
import sys

from .build import Error, lathe_program


def main() -> None:
    try:
        if sys.argv[1:2] == ["wheel"]:
            from .wheel import wheel_command

            wheel_command(sys.argv[2:])
            return
        program, environment = lathe_program()
        os.execve(program, [program, *sys.argv[1:]], environment)
    except Error as e:
        sys.exit(f"lathe: error: {e}")


if __name__ == "__main__":
    main()
