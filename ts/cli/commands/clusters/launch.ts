/** `prl launch ssh`: a run on machines that ssh reaches. */
import {
  describeSchema,
  hostsFileSchema,
  loadConfig,
  parseConfigArguments,
  readHostsFile,
} from "../../../config/index.ts";
import { PrlError } from "../../../errors.ts";
import { launchSsh } from "../../../launcher/index.ts";
import type { Command, CommandIo } from "../../command.ts";
import { RESUME_OPTION, resumeRequest, showRun } from "../../processes/show-run.ts";

const KEYS = describeSchema(hostsFileSchema)
  .filter(({ isBlock }) => !isBlock)
  .map(({ key, type, fallback, description }) => `  ${key} (${type}, ${fallback}): ${description}`);

export const command: Command = {
  name: "launch",
  summary: "Start a run on machines that ssh reaches, watch it and end it",
  usage: "launch ssh <hosts.toml> [@] <file.toml>... [--resume [<step>]] [--key value]...",
  details: [
    "The hosts have prl, the models and the data; they get nothing but the configs. Each part of the run is a child of one ssh session, and ends",
    "within 10 s when this process or the connection is gone. Logs, metrics and events come into the run directory here. All files of the run on a",
    "host are in <dir>/<name>/<run>.",
    "",
    "Keys of the hosts file:",
    ...KEYS,
  ].join("\n"),
  options: [RESUME_OPTION],
  config: "rl",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [way, file, ...rest] = args;
  if (way !== "ssh" || file === undefined || file.startsWith("-")) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl launch: expected ssh, a file of hosts and a config: prl launch ssh hosts.toml rl.toml",
    );
  }
  const { files, overrides, options } = parseConfigArguments("rl", rest, [RESUME_OPTION]);
  const resume = resumeRequest(options);
  const { hosts, provenance: hostsProvenance } = await readHostsFile(file, io.cwd);
  const { config, provenance } = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  const title = config.run.name ?? config.orchestrator.train.source.map((source) => source.name).join(", ");
  const { env, signal, hurry } = io;
  return showRun(io, title, (onEvent) => {
    const end = launchSsh(config, { hosts, hostsProvenance, provenance, env, resume, signal, hurry, onEvent });
    return { result: end.then(({ summary }) => summary) };
  });
}
