/** `prl model <form>`: models of the hub and of this disk. Each form is a module of `model/`, imported when it is requested. */
import { parseOptions } from "../arguments/args.ts";
import { chosenForm } from "../arguments/form.ts";
import type { Command, CommandIo } from "../command.ts";
import { FORMS } from "./model/forms.ts";

const widest = Math.max(0, ...FORMS.map(({ name }) => name.length));

export const command: Command = {
  name: "model",
  summary: "Download, list, examine and remove models",
  usage: FORMS.map(({ name, usage }) => `model ${name} ${usage}`).join("\n       prl "),
  details: `${FORMS.map(({ name, summary }) => `${name.padEnd(widest)}  ${summary}`).join("\n")}

Models lie in the cache that Hugging Face's programs use: HF_HUB_CACHE, else hub/ in HF_HOME, else ~/.cache/huggingface/hub.
HF_TOKEN (or the token of \`hf auth login\`), HF_ENDPOINT and HF_HUB_OFFLINE=1 mean what they mean there.`,
  options: FORMS.flatMap(({ name, options }) =>
    options.map((option) => ({ ...option, required: false, summary: `${name}: ${option.summary}` })),
  ),
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const [name, ...rest] = args;
  const form = chosenForm("model", FORMS, name);
  const module = await form.load();
  return module.run(parseOptions({ name: `model ${form.name}`, options: form.options }, rest), io);
}
