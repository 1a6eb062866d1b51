/** `prl runs <form>`: shows the results of runs. Each form is a module of `runs/`, imported when it is requested. */
import { parseOptions, type PlainArguments } from "../arguments/args.ts";
import { chosenForm } from "../arguments/form.ts";
import type { Command, CommandIo } from "../command.ts";
import { OUTPUT_DIR } from "../runs/find-runs.ts";

interface RunsForm {
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  load(): Promise<{ run(args: PlainArguments, io: CommandIo): Promise<number> }>;
}

const FORMS: readonly RunsForm[] = [
  {
    name: "list",
    usage: "[--output-dir <dir>]",
    summary: "Show every run: status, steps, first and last reward, time, defects of its directory",
    load: () => import("./runs/list.ts"),
  },
  {
    name: "show",
    usage: "<run> [--output-dir <dir>]",
    summary: "Show one run: its end, its config in short, evaluations, events, a plot of the rewards",
    load: () => import("./runs/show.ts"),
  },
  {
    name: "compare",
    usage: "<run> <run>... [--output-dir <dir>]",
    summary:
      "Show the rewards of runs by step, as a plot and a table (losses of supervised runs), and the config keys that differ",
    load: () => import("./runs/compare.ts"),
  },
];

const OPTIONS = [OUTPUT_DIR];
const widest = Math.max(0, ...FORMS.map(({ name }) => name.length));

export const command: Command = {
  name: "runs",
  summary: "List, show and compare runs",
  usage: FORMS.map(({ name, usage }) => `runs ${name} ${usage}`).join("\n       prl "),
  details: `${FORMS.map(({ name, summary }) => `${name.padEnd(widest)}  ${summary}`).join("\n")}

A run is named by its folder in the output folder, or by a path. Its status is "running" while a process has its lock, then the
status in its summary.json, and "unfinished" without a summary.json.`,
  options: OPTIONS,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  const form = chosenForm("runs", FORMS, name);
  const module = await form.load();
  return module.run(parseOptions({ name: `runs ${form.name}`, options: OPTIONS }, rest), io);
}
