/** Options of `prl-lm` itself. Refused before a run has a directory. */
import { evaluate, loadConfig, loadEnvironment, rl, sft } from "../../../../ts/index.ts";
import type { OptionTable } from "./table.ts";

const R = { code: "PRL_RUN_OPTIONS" };
const wrong = { signal: "now", hurry: 1, resume: "newest", onEvent: "print" };

export const RUNS: OptionTable = {
  rl: { ...R, call: (more) => rl({} as never, more), wrong },
  sft: { ...R, call: (more) => sft({} as never, more), wrong },
  evaluate: {
    ...R,
    call: (more) => evaluate({} as never, more),
    wrong: { signal: 1, resume: "latest", onProgress: 1, onDirectory: "a", env: "PATH" },
  },
  loadConfig: {
    ...R,
    call: (more) => loadConfig([], {}, { kind: "rl", ...more }),
    wrong: { kind: "dpo", env: 1, cwd: 2 },
  },
  loadEnvironment: {
    code: "PRL_ENVIRONMENT_INVALID",
    call: (more) => loadEnvironment({ id: "reverse-text", ...more }),
    wrong: { args: { words: 3 }, id: 1 },
  },
};
