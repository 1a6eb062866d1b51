import { defineConfig } from "vitest/config";

import { COMPILED_FILE, compiledCode, refuseOldCode, RUNS_COMPILED } from "./support/compiled.ts";
import { LongestFirst } from "./order.ts";

/** The long form of a test makes up to a hundred times as many cases. */
const LIMIT_MS = process.env["PRL_TEST_LONG"] === "1" ? 1_800_000 : 300_000;

if (RUNS_COMPILED) refuseOldCode();

export default defineConfig({
  plugins: RUNS_COMPILED ? [compiledCode()] : [],
  test: {
    server: { deps: { external: RUNS_COMPILED ? [COMPILED_FILE] : [] } },
    pool: "forks",
    globalSetup: ["tests/support/runs/shared-folder.ts"],
    sequence: { sequencer: LongestFirst },
    // They end a test that hangs, and decide nothing else: a machine under load is five times slower than a quiet one.
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    // Many files wait for processes most of the time: three at a time keep two cores busy.
    maxWorkers: 3,
    projects: [
      // Unit tests share processes: loading prl and the addon anew for each of 300 files would cost minutes.
      { extends: true, test: { name: "unit", include: ["tests/unit/**/*.test.ts"], isolate: false } },
      { extends: true, test: { name: "whole", include: ["tests/**/*.test.ts"], exclude: ["tests/unit/**"] } },
    ],
  },
});
