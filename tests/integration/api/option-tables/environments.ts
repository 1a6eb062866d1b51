/** Options of `prl-lm/environments`. */
import {
  agent,
  defineEnvironment,
  groupReward,
  InterceptionServer,
  mcpTools,
  multiTurn,
  openEndpoint,
  pruning,
  reward,
  rows,
  scoreGroup,
  singleTurn,
  summarizing,
  tool,
  toolUse,
  userModel,
  validateEnvironment,
  z,
} from "../../../../ts/environments/index.ts";
import { countTasks } from "../../../../ts/environments/internal.ts";
import { placedRows, sourceFiles } from "../../../../ts/datasets/index.ts";
import type { OptionTable } from "./table.ts";

const E = { code: "PRL_ENVIRONMENT_INVALID" };
const definition = {
  name: "options",
  version: "1.0.0",
  config: z.strictObject({}),
  tasks: () => [{ prompt: "a" }],
  rollout: singleTurn(),
  rewards: { one: () => 1 },
};
const environment = defineEnvironment(definition);
const file = { file: "no-such-file.jsonl" };

export const ENVIRONMENTS: OptionTable = {
  defineEnvironment: {
    ...E,
    call: (more) => defineEnvironment({ ...definition, ...more }),
    wrong: {
      agents: "one",
      key: "id",
      tags: "a",
      judge: {},
    },
  },
  "defineEnvironment reward": {
    ...E,
    call: (more) => defineEnvironment({ ...definition, rewards: { one: { weight: 1, score: () => 1, ...more } } }),
    wrong: { weight: "1", timeoutMs: "0", agent: 1 },
  },
  "defineEnvironment configure": { ...E, call: (more) => environment.configure({}, more), wrong: {} },
  scoreGroup: {
    ...E,
    call: (more) => scoreGroup(environment, [{ task: { prompt: "a" }, messages: [], ...more }]),
    wrong: { task: "a", messages: "b" },
  },
  validateEnvironment: {
    ...E,
    call: (more) => validateEnvironment(environment.configure(), more),
    wrong: { tasks: "3", signal: "now" },
  },
  countTasks: {
    ...E,
    call: (more) => countTasks(environment.configure(), "train", more),
    wrong: { most: "all", deadlineMs: "1 s" },
  },
  pruning: { ...E, call: (more) => pruning({ keepTurns: 1, ...more }), wrong: { keepTurns: Number.NaN } },
  summarizing: { ...E, call: (more) => summarizing(more), wrong: { everyTurns: 0, instruction: 1 } },
  userModel: {
    ...E,
    call: (more) => userModel({ endpoint: () => ({}) as never, system: "a", ...more }),
    wrong: { system: 1, maxTurns: "3", sampling: { temprature: 1 } },
  },
  multiTurn: {
    ...E,
    call: (more) => multiTurn({ respond: () => null, ...more }),
    wrong: { maxTurns: 0.5, maxOutputTokens: -1, respond: "a", stops: [] },
  },
  toolUse: { ...E, call: (more) => toolUse(more), wrong: { tools: [], maxTurns: "3", servers: "a" } },
  tool: {
    ...E,
    call: (more) => tool({ description: "a", parameters: z.object({}), execute: () => "b", ...more }),
    wrong: { parameters: {}, execute: "b", timeoutMs: "1 s" },
  },
  mcpTools: {
    ...E,
    call: (more) => mcpTools({ command: "a", ...more }),
    wrong: { args: "b", env: { A: 1 }, timeoutMs: "1 s", only: "c", headers: {} },
  },
  agent: {
    ...E,
    call: (more) => agent({ command: ["a"], ...more }),
    wrong: { command: "a b", promptIn: "file", formats: "any", timeoutMs: "1 s", network: "none" },
  },
  reward: { ...E, call: (more) => reward(1, () => 1, more), wrong: { timeoutMs: "1 s", agent: 1 } },
  groupReward: { ...E, call: (more) => groupReward(1, () => [1], more), wrong: { timeoutMs: "1 s" } },
  openEndpoint: {
    ...E,
    call: (more) => openEndpoint({ url: "http://127.0.0.1:9/v1", model: "a", ...more }),
    wrong: { api: "responses", headers: { a: 1 }, maxRetries: "5", stream: 1 },
  },
  "InterceptionServer.start": {
    ...E,
    call: (more) => InterceptionServer.start(more),
    wrong: { host: 1, port: "80", maxBodyBytes: "1 MB" },
  },
  rows: { ...E, call: (more) => rows(file, z.object({}), more).next(), wrong: { limit: "3", use: "test" } },
  placedRows: { ...E, call: (more) => placedRows(file, z.object({}), more).next(), wrong: { shuffle: 1 } },
  sourceFiles: { ...E, call: (more) => sourceFiles({ ...file, ...more }), wrong: { file: 1 } },
};
