/** Files that users write: configs of every kind, hosts, endpoints; and the JSON that a process of a run is started with. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { type ConfigKind, loadConfig, readChildConfig, readHostsFile } from "../../../ts/config/index.ts";
import { PrlError } from "../../../ts/errors.ts";
import { readEndpointsFile } from "../../../ts/evals/endpoints.ts";
import { holds, type Target, textOf } from "../engine/target.ts";
import { fileOf, folderOf } from "./place.ts";

/** Characters of a message: some, and some more for each of the input's, because a message names all problems. */
const LONGEST_MESSAGE = 10_000;
const MESSAGE_PER_BYTE = 8;
const CONFIGS = resolve(import.meta.dirname, "../../../configs");
const folder = folderOf("configs");
mkdirSync(join(folder, "model"));

const TOML = [
  "[model]",
  "[[orchestrator.train.source]]",
  "[a.b.c]",
  'name = "x"',
  "extends = ",
  "__proto__ = 1",
  '"" = 1',
  "'''",
  '"""',
  '"\\ud800"',
  "1979-05-27T07:32:00Z",
  "{ a = ",
  "[1, ",
  " = inf",
  " = nan",
  "\r\n",
  "# ",
  '"None"',
  "true",
];

const HOSTS = `first_port = 7300
[[host]]
name = "a"
address = "10.0.0.1"
roles = ["trainer", "orchestrator", "inference"]
dir = "/data"
env = { A = "b" }
`;
const ENDPOINTS = `[[endpoint]]
id = "m"
model = "m"
url = "http://127.0.0.1:8000/v1"
headers = { "x-a" = "b" }
`;
const CHILD = `{"run":{"name":"a"},"model":{"name":"m","lora":null},"seed":0,"max_steps":3}`;

/** Configs of one kind that the repository ships, without what they build on. */
function shipped(kind: ConfigKind): string[] {
  const files = readdirSync(CONFIGS, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(`${kind}.toml`),
  );
  return files.toSorted().map((file) => readFileSync(join(CONFIGS, file), "utf8"));
}

/** The message of a refusal is not much longer than the input. */
async function refusesShortly(input: Uint8Array, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const most = LONGEST_MESSAGE + MESSAGE_PER_BYTE * input.length;
    if (error instanceof PrlError)
      holds(error.message.length <= most, `a message has ${error.message.length} characters`);
    throw error;
  }
}

function config(kind: ConfigKind): Target {
  return {
    name: `config-${kind}`,
    starts: shipped(kind),
    words: TOML,
    mostBytes: 16_384,
    inputs: 100,
    read(input) {
      const file = fileOf(folder, `${kind}.toml`, input);
      return refusesShortly(input, () => loadConfig([file], [], { kind, env: {}, cwd: folder }));
    },
  };
}

export const CONFIG_TARGETS: readonly Target[] = [
  config("rl"),
  config("sft"),
  config("eval"),
  {
    name: "config-flags",
    starts: ["--max-steps\n3\n--model.name\nx\n--orchestrator.train.source.0.env.id=a", "@\nrl.toml\n--no-clean"],
    words: [
      "\n",
      "--",
      "=",
      "@",
      ".0.",
      "--trainer.optim.lr",
      "None",
      "[1,2]",
      '{"a":1}',
      "true",
      "--orchestrator.train.source",
    ],
    mostBytes: 4096,
    inputs: 100,
    read(input) {
      fileOf(folder, "rl.toml", "max_steps = 30\n");
      return refusesShortly(input, () =>
        loadConfig([], textOf(input).split("\n"), { kind: "rl", env: {}, cwd: folder }),
      );
    },
  },
  {
    name: "hosts-file",
    starts: [HOSTS],
    words: [...TOML, "[[host]]", "identity = ", "~/", 'roles = ["env-worker"]', "port = "],
    read: (input) => refusesShortly(input, () => readHostsFile(fileOf(folder, "hosts.toml", input), folder)),
  },
  {
    name: "endpoints-file",
    starts: [ENDPOINTS],
    words: [...TOML, "[[endpoint]]", 'api = "anthropic"', "https://"],
    read: (input) => refusesShortly(input, () => readEndpointsFile(fileOf(folder, "endpoints.toml", input))),
  },
  {
    name: "process-config",
    starts: [CHILD],
    words: ['"', ":", ",", "{", "}", "[", "null", '"trainer":', '"__proto__":', "1e999"],
    async read(input) {
      const file = fileOf(folder, "trainer.json", input);
      await refusesShortly(input, () => readChildConfig("trainer", file));
    },
  },
];
