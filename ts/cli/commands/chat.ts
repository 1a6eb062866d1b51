/** `prl chat`: a conversation with a model folder, or with any endpoint, line by line. */
import { createInterface } from "node:readline/promises";

import { type Message } from "../../message.ts";
import { openEndpoint } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import { apiKeyFrom } from "../../inference-client/index.ts";
import { engineOptions, parseInferenceProcessConfig } from "../../inference/index.ts";
import { loadModel } from "../../native/index.ts";
import { numberOption, parseOptions } from "../arguments/args.ts";
import { untilStopped } from "../processes/child.ts";
import { type Command, type CommandIo } from "../command.ts";
import { RULES } from "../arguments/option-rule.ts";
import { modelFolder } from "../processes/model-download.ts";
import { closeWithin, CLOSE_ENGINE_MS, orStopped, serve } from "../processes/serve-model.ts";

const OPTIONS = [
  {
    flag: "--base-url",
    value: "<url>",
    rule: { is: "url" },
    summary: "Talk to the model behind this endpoint; then give its name in place of a folder",
  },
  { flag: "--api-key-env", value: "<name>", summary: "Environment variable with the endpoint's key" },
  { flag: "--system", value: "<text>", summary: "System message" },
  {
    flag: "--temperature",
    value: "<t>",
    rule: RULES.temperature,
    summary: "Sampling temperature, 0 is greedy (default 1)",
  },
  {
    flag: "--max-tokens",
    value: "<n>",
    rule: RULES.count,
    summary: "Most tokens of a reply (default: the rest of the context)",
  },
  { flag: "--seed", value: "<n>", rule: RULES.whole, summary: "Seed of the conversation (default 0)" },
  { flag: "--threads", value: "<n>", rule: RULES.threads, summary: "Threads of the engine (default: all cores)" },
] as const;

export const command: Command = {
  name: "chat",
  summary: "Talk to a model, line by line",
  usage:
    "chat <model> [--system <text>] [--temperature <t>] [--max-tokens <n>]\n       prl chat <model> --base-url <url> [--api-key-env <name>]",
  details:
    "The model is a folder, also that of an adapter, or org/name on the Hugging Face hub, which is downloaded (prl model --help).\n" +
    "Each line of stdin is one message. Each reply goes to stdout. The end of stdin (Ctrl-D) ends the conversation.",
  options: OPTIONS,
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: "chat", options: OPTIONS }, args);
  const [model] = positionals;
  if (model === undefined || positionals.length > 1)
    throw new PrlError("PRL_CLI_USAGE", "prl chat takes one model; see prl chat --help");
  const url = options.get("--base-url");
  if (url === undefined && options.has("--api-key-env"))
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl chat: --api-key-env is for the endpoint of --base-url: give both, or none",
    );
  return untilStopped(io, () =>
    url === undefined ? chatWithFolder(model, options, io) : orStopped(io.signal, converse(url, model, options, io)),
  );
}

async function chatWithFolder(folder: string, options: ReadonlyMap<string, string>, io: CommandIo): Promise<void> {
  const { dir, name, adapter } = await modelFolder(folder, io);
  const threads = options.has("--threads") ? numberOption(options, "--threads", 0) : null;
  const config = parseInferenceProcessConfig({ model_dir: dir, inference: { threads, model: { name } } }, "prl chat");
  const loading = { ...(await engineOptions(config)), ...(adapter !== null && { adapter }) };
  const model = await orStopped(io.signal, loadModel(dir, loading));
  try {
    await serve({ config, model, puller: null, index: 0 }, io, (url) => converse(`${url}/v1`, name, options, io));
  } finally {
    await closeWithin(CLOSE_ENGINE_MS, "closing the engine", model.close(), io);
  }
}

async function converse(
  url: string,
  model: string,
  options: ReadonlyMap<string, string>,
  io: CommandIo,
): Promise<void> {
  const key = apiKeyFrom(options.get("--api-key-env") ?? null, "the endpoint's key", io.env);
  const endpoint = openEndpoint({ url, model, api: "chat", stream: true, ...key });
  const system = options.get("--system");
  const messages: Message[] = system === undefined ? [] : [{ role: "system", content: system }];
  const maxCompletionTokens = options.has("--max-tokens") ? numberOption(options, "--max-tokens", 0) : null;
  const sampling = { temperature: numberOption(options, "--temperature", 1), maxCompletionTokens, topP: 1, topK: -1 };
  const lines = createInterface({ input: io.stdin });
  const invite = (): void => void (io.isTerminal && io.stderr.write("> "));
  let seed = numberOption(options, "--seed", 0);
  try {
    invite();
    for await (const line of lines) {
      if (line.trim() !== "") {
        messages.push({ role: "user", content: line });
        let heard = "";
        const onText = (text: string): void => {
          heard += text;
          io.stdout.write(text);
        };
        const request = { prompt: messages, sampling, seed: seed++, signal: io.signal, onText };
        const { message } = await endpoint.reply(request);
        messages.push(message);
        io.stdout.write(heard === "" ? `${message.content}\n` : "\n");
      }
      invite();
    }
  } finally {
    lines.close();
    await endpoint.close();
  }
}
