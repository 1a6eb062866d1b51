/** The sides on which a project is called: each has `run`, which answers a list of requests. */
export const ENTRIES: Readonly<Record<"api" | "cli" | "queue", string>> = {
  api: String.raw`"""The HTTP side: a request has a path and a body, a response a status and a body."""
from $pkg.errors import ServiceError
from $pkg.routes import dispatch
from $pkg.store import Store


def respond(store, request):
    """The response to one request."""
    try:
        body = dispatch(store, request["path"][1:], request["body"])
    except ServiceError as error:
        return {"status": error.status, "body": {"error": error.code}}
    return {"status": 200, "body": body}


def run(requests):
    """Responses to requests, in their order, beginning with an empty store."""
    store = Store()
    return [respond(store, request) for request in requests]
`,
  cli: String.raw`"""The command line: a line has a command and arguments name=value, a result is one line."""
from $pkg.errors import ServiceError
from $pkg.routes import dispatch
from $pkg.store import Store


def parse_value(text):
    """Numbers are numbers, commas make lists, underscores are spaces."""
    if "," in text:
        return [part.replace("_", " ") for part in text.split(",") if part != ""]
    if text.isdigit():
        return int(text)
    return text.replace("_", " ")


def parse_line(line):
    """The command and its arguments."""
    words = line.split()
    args = {}
    for word in words[1:]:
        name, value = word.split("=", 1)
        args[name] = parse_value(value)
    return words[0], args


def show_value(value):
    """Texts and numbers as they are."""
    return "none" if value is None else str(value)


def show(result):
    """One line for a result; names of lists end with s."""
    parts = []
    for name, value in result.items():
        if name.endswith("s") and value == []:
            parts.append(f"{name}=-")
        elif name.endswith("s"):
            shown = ",".join([show_value(one) for one in value])
            parts.append(f"{name}={shown}")
        else:
            parts.append(f"{name}={show_value(value)}")
    return " ".join(["ok"] + parts)


def respond(store, line):
    """The line that answers a line."""
    name, args = parse_line(line)
    try:
        return show(dispatch(store, name, args))
    except ServiceError as error:
        return f"error {error.status}: {error.code}"


def run(requests):
    """Results of lines, in their order, beginning with an empty store."""
    store = Store()
    return [respond(store, line) for line in requests]
`,
  queue: String.raw`"""The worker of a queue: a message is [name, arguments]; for each it emits one event."""
from $pkg.errors import ServiceError
from $pkg.routes import dispatch
from $pkg.store import Store


def work(store, message):
    """The event of one message."""
    name, args = message
    try:
        return ["done", name, dispatch(store, name, args)]
    except ServiceError as error:
        return ["failed", name, error.code, error.status]


def run(requests):
    """Events of messages, in their order, beginning with an empty store."""
    store = Store()
    return [work(store, message) for message in requests]
`,
};
