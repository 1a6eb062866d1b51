/** `prl fleet check`: whether the hosts of a file are ready for a run. */
import { readHostsFile } from "../../../config/index.ts";
import { PrlError } from "../../../errors.ts";
import { parseOptions } from "../../arguments/args.ts";
import { chosenForm } from "../../arguments/form.ts";
import { type Command, type CommandIo, EXIT } from "../../command.ts";
import { checkFleet } from "../../fleet/check-fleet.ts";
import { fleetText, problemsOf } from "../../fleet/fleet-text.ts";

const FORMS = [{ name: "check", run: check }] as const;

export const command: Command = {
  name: "fleet",
  summary: "Check the machines of a file of hosts and say what to mend",
  usage: "fleet check <hosts.toml> [--json]",
  details: [
    "Asks all hosts over ssh and prints one table: ssh and the version of prl, clock, instruction sets, memory, disks and their speed, shared memory, limits,",
    "driver and GPUs (nvidia-smi), NCCL's all-reduce among the GPUs of a host (with the torch backend's PyTorch), InfiniBand, sandbox tier.",
    "The exit code is 1 when there is a problem; warnings do not count. The file is that of prl launch ssh, whose help has its keys.",
  ].join("\n"),
  options: [],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  return chosenForm("fleet", FORMS, name).run(rest, io);
}

async function check(args: readonly string[], io: CommandIo): Promise<number> {
  const { positionals } = parseOptions({ name: "fleet check", options: [] }, args);
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0)
    throw new PrlError("PRL_CLI_USAGE", "prl fleet check: expected one file of hosts");
  const { hosts } = await readHostsFile(path, io.cwd);
  const reports = await checkFleet(hosts);
  const problems = problemsOf(reports);
  if (io.json) io.writeJson({ ok: problems === 0, hosts: reports });
  else io.stdout.write(fleetText(reports));
  return problems === 0 ? EXIT.done : EXIT.failed;
}
