/** `prl python setup <name>`: Python environments for backends that run on Python. */
import { PYTHON_ENVIRONMENTS, type PythonEnvironment, setUpPython } from "../../python/index.ts";
import { PrlError } from "../../errors.ts";
import { parseOptions } from "../arguments/args.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";

const NAMES = Object.keys(PYTHON_ENVIRONMENTS) as PythonEnvironment[];

export const command: Command = {
  name: "python",
  summary: "Set up the Python environment of a backend in prl's cache",
  usage: `python setup ${NAMES.join(" | ")} [--cpu | --cuda] [--index-url <url>]`,
  details: `It makes a virtual environment in <PRL_CACHE_DIR>/python, with the packages of a lock file, each checked against its digest. uv does it when it
is there, else venv and pip. Nothing else of prl installs anything.`,
  options: [
    { flag: "--cpu", summary: "For processors; do not look for a GPU (default where there is no NVIDIA driver)" },
    { flag: "--cuda", summary: "For NVIDIA GPUs; refuse a machine without their driver" },
    { flag: "--index-url", value: "<url>", summary: "Package index (default: that of uv's or pip's own settings)" },
  ],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions(command, args);
  const [form, name, ...rest] = positionals;
  if (form !== "setup" || !isEnvironment(name) || rest.length > 0) {
    throw new PrlError("PRL_CLI_USAGE", `expected prl python setup ${NAMES.join(" | ")}; see prl python --help`);
  }
  if (options.has("--cpu") && options.has("--cuda")) {
    throw new PrlError("PRL_CLI_USAGE", "--cpu and --cuda exclude each other: give one of them");
  }
  const made = await setUpPython(name, {
    device: options.has("--cuda") ? "cuda" : options.has("--cpu") ? "cpu" : null,
    indexUrl: options.get("--index-url") ?? null,
    signal: io.signal,
    say: (text) => void io.stderr.write(text),
  });
  const { interpreter, packages, isKept } = made;
  if (io.json) {
    io.writeJson({ name, interpreter, packages, kept: isKept });
    return EXIT.done;
  }
  const versions = Object.entries(packages).map(([what, version]) => `${what} ${version}`);
  io.stdout.write(`${name}: ${versions.join(", ")}${isKept ? "; it was set up already" : ""}\n${interpreter}\n`);
  return EXIT.done;
}

function isEnvironment(name: string | undefined): name is PythonEnvironment {
  return name !== undefined && Object.hasOwn(PYTHON_ENVIRONMENTS, name);
}
