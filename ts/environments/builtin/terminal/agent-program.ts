/**
 * The agent: a loop around OpenAI's chat completions with one tool, a shell. Python's standard library only; it knows nothing of prl.
 *
 * It reads the task from standard input and ends with the first reply without a call, or when the model refuses to go on.
 */
export const AGENT_PROGRAM = String.raw`
import json, os, subprocess, sys, urllib.error, urllib.request

LIMIT = float(os.environ["COMMAND_SECONDS"])
SHOWN = 4000
RUN = {
    "type": "function",
    "function": {
        "name": "run",
        "description": "Run a command in a shell and see what it prints.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "for sh"}},
            "required": ["command"],
        },
    },
}


def reply(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "policy", "messages": messages, "tools": [RUN]}).encode(),
        {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def run(arguments):
    try:
        command = json.loads(arguments)["command"]
    except (ValueError, KeyError, TypeError):
        return "Error: give the command as {\"command\": \"...\"}"
    if not isinstance(command, str) or "\0" in command:
        return "Error: the command must be a text"
    # The shell has no business with the key.
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    try:
        done = subprocess.run(
            ["sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, env=environment
        )
    except subprocess.TimeoutExpired:
        return "Error: the command did not end within %g seconds" % LIMIT
    printed = (done.stdout + done.stderr).decode("utf-8", "replace")
    if len(printed) > SHOWN:
        printed = printed[: SHOWN // 2] + "\n[...]\n" + printed[-SHOWN // 2 :]
    return printed + ("" if done.returncode == 0 else "[exit code %d]" % done.returncode)


messages = [
    {"role": "system", "content": os.environ["SYSTEM_PROMPT"]},
    {"role": "user", "content": sys.stdin.read()},
]
while True:
    try:
        said = reply(messages)
    except urllib.error.HTTPError as error:
        print(error.read().decode("utf-8", "replace"))
        break
    messages.append(said)
    calls = said.get("tool_calls") or []
    if not calls:
        print(said.get("content"))
        break
    for call in calls:
        answer = run(call["function"]["arguments"]) if call["function"]["name"] == "run" else "Error: there is only run"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": answer})
`;
