/**
 * `prl inference`: an inference server, in a run or alone.
 *
 * As a process of a run it loads the model, listens, joins the run and serves until SIGTERM or until the launcher is gone; it then ends within
 * 10 s. It knows nothing of the other processes. With a model folder it serves that model until a signal stops it.
 */
import { resolve } from "node:path";

import { explain, PrlError } from "../../../errors.ts";
import { readRegularFile } from "../../../files/regular-file.ts";
import {
  engineOptions,
  hostProblem,
  type InferenceProcessConfig,
  type InferenceServerOptions,
  parseInferenceProcessConfig,
  loadVllm,
  readInferenceProcessConfig,
  type VllmServer,
} from "../../../inference/index.ts";
import { loadModel } from "../../../native/index.ts";
import { REASONING_PARSERS, TOOL_CALL_PARSERS } from "../../../renderers/internal.ts";
import { openInferencePuller, untilServersTurn, type WeightPuller, weightsFolder } from "../../../transports/index.ts";
import { numberOption, parseOptions, refusePositionals } from "../../arguments/args.ts";
import { hideArguments } from "../../arguments/hide-arguments.ts";
import { BENCH_OPTION, isBench } from "../../bench/option.ts";
import { eitherWay, partInput, STANDALONE_DETAILS, STANDALONE_USAGE } from "../../processes/standalone.ts";
import { CHILD_OPTIONS, untilStopped } from "../../processes/child.ts";
import type { Command, CommandIo } from "../../command.ts";
import { RULES } from "../../arguments/option-rule.ts";
import { modelFolder } from "../../processes/model-download.ts";
import { jsonObject, SERVING_OPTIONS, servingOptions } from "../../processes/serving-options.ts";
import { closeWithin, CLOSE_ENGINE_MS, FOREVER, orStopped, serve } from "../../processes/serve-model.ts";

const COMPONENT = "inference";
const DTYPES = ["auto", "float32", "bfloat16"];
const DEFAULT_PORT = 8000;
/** A step of the engine has a row for each. */
const MOST_BATCHED_TOKENS = 1_048_576;
const BATCHED = "--max-num-batched-tokens";
const KWARGS = "--default-chat-template-kwargs";
const FOLDER_OPTIONS = [
  {
    flag: "--host",
    value: "<address>",
    rule: { is: "host" },
    summary: "Address to listen on (default 127.0.0.1); beyond this machine it needs an API key",
  },
  { flag: "--port", value: "<n>", rule: RULES.port, summary: "Port (default 8000); another free one when it is taken" },
  { flag: "--name", value: "<name>", summary: "Name of the model in requests (default: org/name, or the folder's)" },
  { flag: "--served-model-name", value: "<name>,...", summary: "The same, several; the first is in answers" },
  {
    flag: "--api-key",
    value: "<key>,...",
    summary:
      "Keys of which requests under /v1 and /inference need one; safer in a file or a variable, as other users see arguments",
  },
  {
    flag: "--api-key-file",
    value: "<file>",
    rule: { is: "text" },
    summary: "File with those keys, on lines or between commas",
  },
  {
    flag: "--api-key-env",
    value: "<name>",
    rule: { is: "text" },
    summary: "Environment variable with those keys (default VLLM_API_KEY)",
  },
  {
    flag: "--weights-root",
    value: "<dir>,...",
    summary:
      "Folders that calls to /update_weights and /load_lora_adapter may load from (default: the current folder and the model's)",
  },
  { flag: "--threads", value: "<n>", rule: RULES.threads, summary: "Threads of the engine (default: all cores)" },
  {
    flag: "--max-model-len",
    value: "<n>",
    rule: RULES.count,
    summary: "Longest sequence (tokens; default: the model's)",
  },
  { flag: "--max-num-seqs", value: "<n>", rule: RULES.count, summary: "Most sequences decoded together (default 256)" },
  {
    flag: BATCHED,
    value: "<n>",
    rule: { is: "integer", least: 1, most: MOST_BATCHED_TOKENS },
    summary: "Most tokens of one step; longer prompts are computed in parts (default 512)",
  },
  {
    flag: "--max-waiting",
    value: "<n>",
    rule: RULES.whole,
    summary: "Most samples that wait; more are answered with 429 (default 65536)",
  },
  {
    flag: "--kv-cache-memory-bytes",
    value: "<n>",
    rule: RULES.count,
    summary: "Memory of the KV cache (default: for the sequences, at most 256 MiB)",
  },
  { flag: "--no-enable-prefix-caching", summary: "Do not reuse the KV cache of prompts that begin alike" },
  { flag: "--enable-prefix-caching", summary: "Reuse it, which is the default" },
  {
    flag: "--dtype",
    value: "<dtype>",
    rule: { is: "one of", values: DTYPES },
    summary: "Format of the weights in memory: auto (default: the model's), float32 or bfloat16",
  },
  {
    flag: "--base-dtype",
    value: "int8",
    rule: { is: "one of", values: ["int8"] },
    summary: "Format of the projections in memory, as model.base_dtype of a run (default: as --dtype)",
  },
  {
    flag: "--chat-template",
    value: "<file>",
    rule: { is: "text" },
    summary: "A Jinja template for chats in place of the model's",
  },
  {
    flag: KWARGS,
    value: "<json>",
    summary: 'Variables of the template that a request may change, such as {"enable_thinking": false}',
  },
  {
    flag: "--tool-call-parser",
    value: "<name>",
    rule: { is: "one of", values: TOOL_CALL_PARSERS },
    summary: `How calls in replies are read: ${TOOL_CALL_PARSERS.join(", ")} (default: as the model's template writes them)`,
  },
  { flag: "--enable-auto-tool-choice", summary: "Models may always choose to call tools; this changes nothing" },
  {
    flag: "--reasoning-parser",
    value: "<name>",
    rule: { is: "one of", values: REASONING_PARSERS },
    summary: `How thinking in replies is read: ${REASONING_PARSERS.join(", ")} (default: as the model's template writes it)`,
  },
  {
    flag: "--enable-return-routed-experts",
    summary: "Answers of /inference/v1/generate have the experts that tokens went to, for router replay",
  },
  { flag: "--seed", value: "<n>", rule: RULES.whole, summary: "Seed of requests that have none (default 0)" },
  ...SERVING_OPTIONS,
] as const;

export const command: Command = {
  name: COMPONENT,
  summary: "Serve a model over HTTP: token ids in, token ids and log-probabilities out",
  usage:
    "inference <model> [--host 127.0.0.1] [--port 8000] [--served-model-name <name>,...] [--api-key-file <file>] [option]...\n" +
    `       prl inference ${STANDALONE_USAGE}\n` +
    "       prl inference --config <file.json> --run-dir <dir> [--index <i>]\n" +
    "       prl inference --bench [<steps>] <file.toml>... [--key value]...",
  details:
    "With a model, which is a folder (config.json, weights, tokenizer, or an adapter of a model) or org/name on the Hugging Face hub: serves it, OpenAI's endpoints under /v1 included; the address is the first line of stdout.\n" +
    "On an address that other machines reach everything but /health needs an API key (authorization: Bearer), and calls which pause the\n" +
    "engine or change its weights need PRL_TRANSPORT_TOKEN. On 127.0.0.1 a key is asked for where one is set.\n" +
    STANDALONE_DETAILS +
    "`prl rl` starts it with --config for each replica. The config file holds {model_dir, version, seed, inference: {...}} with the keys\n" +
    "of [inference]. The address is in <run-dir>/run/inference-<i>.json as soon as the server takes requests.\n",
  options: [...FOLDER_OPTIONS, BENCH_OPTION, ...eitherWay(CHILD_OPTIONS)],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (isBench(args)) return (await import("../../bench/inference.ts")).benchInference(args, io);
  return args.length === 0 || args.some(isOfRun) ? runChild(args, io) : serveFolder(args, io);
}

/** Whether a word says that the server is a part of a run, and so names no model. */
function isOfRun(word: string): boolean {
  return word === "@" || /^--(?:config|run-dir|index|attempt)(?:=|$)/u.test(word) || /^[^-].*\.toml$/u.test(word);
}

async function serveFolder(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions({ name: COMPONENT, options: FOLDER_OPTIONS }, args);
  const [folder, ...more] = positionals;
  if (folder === undefined) {
    const advice = "name a model, or give the config of a run and --run-dir; see prl inference --help";
    throw new PrlError("PRL_CLI_USAGE", `prl inference: no model is named: ${advice}`);
  }
  refusePositionals("inference <model>", more);
  const host = options.get("--host") ?? "127.0.0.1";
  const apiKeys = await keysOf(options, io);
  await checkHost(host, apiKeys);
  const { dir, name, adapter } = await modelFolder(folder, io);
  const served = options.get("--served-model-name");
  const names = served === undefined ? [options.get("--name") ?? name] : listed(served);
  const config = folderConfig(options, { dir, host, name: names[0] ?? name });
  const chats = await chatOptions(options);
  const weightRoots = rootsOf(options, io.cwd, dir);
  const serving = await servingOptions(options, dir, io);
  const batched = options.has(BATCHED) ? { maxBatchedTokens: numberOption(options, BATCHED, 0) } : {};
  const { signal } = io;
  return untilStopped(io, async () => {
    const loading = { ...(await engineOptions(config)), ...batched, ...(adapter !== null && { adapter }) };
    const model = await orStopped(signal, loadModel(dir, loading));
    try {
      const offered = { config, model, puller: null, index: 0, names, weightRoots, apiKeys, chats, ...serving };
      await serve(offered, io, async (url) => {
        if (io.json) io.writeJson({ url, model: config.inference.model?.name });
        else io.stdout.write(`${url}\n`);
        await FOREVER;
      });
    } finally {
      await closeWithin(CLOSE_ENGINE_MS, "closing the engine", model.close(), io);
    }
  });
}

/** How chats are written and read. Errors: PRL_CLI_USAGE. */
async function chatOptions(options: ReadonlyMap<string, string>): Promise<InferenceServerOptions["chats"]> {
  const template = options.get("--chat-template");
  return {
    templateKwargs: jsonObject(KWARGS, options.get(KWARGS) ?? "{}"),
    chatTemplate: template === undefined ? undefined : await readTemplate(template),
    toolCallParser: TOOL_CALL_PARSERS.find((one) => one === options.get("--tool-call-parser")),
    reasoningParser: REASONING_PARSERS.find((one) => one === options.get("--reasoning-parser")),
  };
}

async function readTemplate(file: string): Promise<string> {
  try {
    return await readRegularFile(file);
  } catch (error) {
    throw new PrlError("PRL_CLI_USAGE", `prl inference: --chat-template: ${file} cannot be read: ${explain(error)}`);
  }
}

/** The config that stands for the options of a folder. */
function folderConfig(
  options: ReadonlyMap<string, string>,
  { dir, host, name }: { dir: string; host: string; name: string },
): InferenceProcessConfig {
  const number = (flag: string): number | undefined => (options.has(flag) ? numberOption(options, flag, 0) : undefined);
  return parseInferenceProcessConfig(
    {
      model_dir: dir,
      seed: number("--seed"),
      inference: {
        threads: number("--threads") ?? null,
        max_num_seqs: number("--max-num-seqs"),
        max_waiting: number("--max-waiting"),
        max_model_len: number("--max-model-len") ?? null,
        kv_cache_bytes: number("--kv-cache-memory-bytes") ?? null,
        prefix_cache: !options.has("--no-enable-prefix-caching"),
        enable_return_routed_experts: options.has("--enable-return-routed-experts"),
        server: { host, port: number("--port") ?? DEFAULT_PORT, weight_roots: [] },
        model: {
          name,
          ...(options.has("--dtype") && { dtype: options.get("--dtype") }),
          ...(options.has("--base-dtype") && { base_dtype: options.get("--base-dtype") }),
        },
      },
    },
    "prl inference",
  );
}

/** The parts of a text between commas, or on lines. */
function listed(text: string): string[] {
  return text
    .split(/[,\n]/u)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Where weights may come from. A server that was started in the file system's root would have no bound, so it has the model's folder alone. */
function rootsOf(options: ReadonlyMap<string, string>, cwd: string, modelDir: string): string[] {
  const given = options.get("--weights-root");
  if (given !== undefined) return listed(given).map((root) => resolve(cwd, root));
  return [modelDir, ...(cwd === "/" ? [] : [cwd])];
}

const KEY_FLAGS = ["--api-key", "--api-key-file", "--api-key-env"] as const;

/** The API keys. Errors: PRL_CLI_USAGE. */
async function keysOf(options: ReadonlyMap<string, string>, { env, cwd, stderr }: CommandIo): Promise<string[]> {
  const given = KEY_FLAGS.filter((flag) => options.has(flag));
  if (given.length > 1) throw wrongKeys(`${given.join(" and ")} name the same keys: give one`);
  const [flag] = given;
  const value = flag === undefined ? "VLLM_API_KEY" : (options.get(flag) ?? "");
  if (flag === "--api-key") {
    const keys = listed(value);
    hideArguments(keys);
    const advice = "--api-key-file and --api-key-env show nothing";
    stderr.write(`Warning: --api-key: other users of this machine could see the key among the arguments; ${advice}\n`);
    return keys;
  }
  const keys = listed(flag === "--api-key-file" ? await keyFile(resolve(cwd, value)) : (env[value] ?? ""));
  if (flag === undefined || keys.length > 0) return keys;
  throw wrongKeys(`${flag}: ${value} ${flag === "--api-key-file" ? "has no key" : "is not set, or has no key"}`);
}

async function keyFile(file: string): Promise<string> {
  try {
    return await readRegularFile(file);
  } catch (error) {
    throw wrongKeys(`--api-key-file: ${file} cannot be read: ${explain(error)}`);
  }
}

function wrongKeys(problem: string): PrlError {
  return new PrlError("PRL_CLI_USAGE", `prl inference: ${problem}`);
}

/** Checks the host before the model is loaded. Errors: PRL_CLI_USAGE. */
async function checkHost(host: string, apiKeys: readonly string[]): Promise<void> {
  const advice = "give --api-key-file or --api-key-env, or listen on 127.0.0.1";
  const problem = await hostProblem(host, apiKeys.length > 0, advice);
  if (problem !== null) throw new PrlError("PRL_CLI_USAGE", `prl inference: --host: ${problem}`);
}

async function runChild(args: readonly string[], io: CommandIo): Promise<number> {
  const { signal } = io;
  const part = { component: COMPONENT } as const;
  const { config, runDir, index, member } = await partInput(part, args, io, readInferenceProcessConfig);
  const mayStart = async (): Promise<void> => {
    if (config.colocated) await untilServersTurn(runDir, signal);
  };
  if (config.inference.backend === "vllm") {
    const options = { index, env: io.env, signal, log: (text: string) => void io.stderr.write(text) };
    const join = ({ url, dtype }: VllmServer) => member.ready({ url, dtype, version: config.version });
    return untilStopped(io, async () => {
      await mayStart();
      const { serveVllm } = await loadVllm();
      await serveVllm(config, options, join);
    });
  }
  return untilStopped(io, async () => {
    await mayStart();
    const model = await orStopped(signal, loadModel(config.model_dir, await engineOptions(config)));
    let puller: WeightPuller | null = null;
    try {
      puller = await openInferencePuller(runDir, index, config.weight_broadcast);
      const weightRoots = [weightsFolder(runDir), ...config.inference.server.weight_roots];
      await serve({ config, model, puller, index, weightRoots }, io, async (url) => {
        const weights = puller === null ? {} : { weights: puller.address };
        await member.ready({ url, isa: model.isa, dtype: model.dtype, version: config.version, ...weights });
        await FOREVER;
      });
    } finally {
      const closed = Promise.all([model.close(), puller?.close()]);
      await closeWithin(CLOSE_ENGINE_MS, "closing the engine", closed, io);
    }
  });
}
