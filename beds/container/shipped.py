"""What dist/container ships, as the bed understands it: the image of its Dockerfile, the flags of its compose file."""

import json
import pathlib
import re
import shlex
import shutil

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "dist/container"


def instructions():
    """The Dockerfile's last stage, as (word, rest) a line."""
    text = re.sub(r"\\\n\s*", "", (PLACE / "Dockerfile").read_text())
    lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
    last = max(number for number, line in enumerate(lines) if line[0] == "FROM")
    return lines[last:]


def said(word):
    return [rest for name, rest in instructions() if name == word]


def command():
    """What its container runs."""
    (entry,), (rest,) = said("ENTRYPOINT"), said("CMD")
    return json.loads(entry) + json.loads(rest)


def environment():
    return [pair for rest in said("ENV") for pair in shlex.split(rest)]


def copy_image(target):
    """Its files below /opt/ebb, and nothing else of the clone."""
    for rest in said("COPY"):
        option, source, place = rest.split()
        if (option, source) != ("--from=build", place):
            raise ValueError(f"COPY {rest}")
        ours, theirs = (pathlib.Path(root, place.removeprefix("/opt/ebb/")) for root in (ROOT, target))
        theirs.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(ours, theirs) if ours.is_dir() else shutil.copy2(ours, theirs)


def service():
    (one,) = yaml.safe_load((PLACE / "compose.yaml").read_text())["services"].values()
    return one


# What concerns the image, the network or docker's daemon, none of which the bed has.
ELSEWHERE = {"build", "ports", "stop_grace_period", "restart", "volumes"}


def security(option):
    name, _, value = option.replace(":", "=", 1).partition("=")
    return f"{name}={PLACE / value}" if name == "seccomp" else f"{name}={value}"


def flags():
    """The bed's for all that compose.yaml says; a key that it does not know is an error."""
    words = []
    for key, value in service().items():
        if key in ELSEWHERE:
            continue
        words += {
            "user": lambda: ["--user", value],
            "cap_drop": lambda: [word for name in value for word in ("--cap-drop", name)],
            "read_only": lambda: ["--read-only"] if value else [],
            "security_opt": lambda: [word for option in value for word in ("--security-opt", security(option))],
            "pids_limit": lambda: ["--pids-limit", str(value)],
            "mem_limit": lambda: ["--memory", value],
            "memswap_limit": lambda: ["--memory-swap", value],
            "ulimits": lambda: [word for name, most in value.items() for word in ("--ulimit", f"{name}={most}")],
        }[key]()
    return words
