"""An agent that knows nothing of prl: it asks a model of an OpenAI-compatible endpoint for shell commands until a reply has none.

It reads the task from standard input, and needs nothing but the standard library.
"""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

SYSTEM = (
    "You work in a shell. Write each command in a fenced code block that is tagged sh. Reply without a block when you are done."
)
COMMAND_SECONDS = 20
SHOWN = 4000


def reply(messages: list[dict[str, str]]) -> str:
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "policy", "messages": messages}).encode(),
        {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"] or ""


def run(command: str) -> str:
    # The shell has no business with the key.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    try:
        done = subprocess.run(
            ["sh", "-c", command],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_SECONDS,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return f"the command did not end within {COMMAND_SECONDS} seconds"
    printed = (done.stdout + done.stderr).decode("utf-8", "replace")[:SHOWN]
    return f"{printed}[exit code {done.returncode}]"


def main() -> None:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": sys.stdin.read()}]
    while True:
        try:
            said = reply(messages)
        except urllib.error.HTTPError as error:
            # The model refuses to go on, for example because all turns are used.
            print(error.read().decode("utf-8", "replace"))
            return
        command = re.search(r"```sh\n(.*?)```", said, re.DOTALL)
        if command is None:
            return
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": run(command[1])}]


main()
