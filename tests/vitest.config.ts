import { defineConfig } from "vitest/config";

/** The long form of a test makes up to a hundred times as many cases. */
const LIMIT_MS = process.env["PRL_TEST_LONG"] === "1" ? 1_800_000 : 300_000;

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    pool: "forks",
    // They end a test that hangs, and decide nothing else: a machine under load is five times slower than a quiet one.
    testTimeout: LIMIT_MS,
    hookTimeout: LIMIT_MS,
    // Many files wait for processes most of the time: three at a time keep two cores busy.
    maxWorkers: 3,
  },
});
