/** `prl weights <form>`: works with weight versions outside a run. Each form is a module of `weights/`, imported when it is requested. */
import { parseOptions } from "../arguments/args.ts";
import { chosenForm } from "../arguments/form.ts";
import type { Command, CommandIo } from "../command.ts";
import { FORMS } from "./weights/forms.ts";

const widest = Math.max(0, ...FORMS.map(({ name }) => name.length));

export const command: Command = {
  name: "weights",
  summary: "Publish, serve, relay, pull, verify, compare and merge weights",
  usage: FORMS.map(({ name, usage }) => `weights ${name} ${usage}`).join("\n       prl "),
  details: `${FORMS.map(({ name, summary }) => `${name.padEnd(widest)}  ${summary}`).join("\n")}\n`,
  options: FORMS.flatMap(({ name, options }) =>
    options.map((option) => ({ ...option, required: false, summary: `${name}: ${option.summary}` })),
  ),
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  const form = chosenForm("weights", FORMS, name);
  const module = await form.load();
  return module.run(parseOptions({ name: `weights ${form.name}`, options: form.options }, rest), io);
}
