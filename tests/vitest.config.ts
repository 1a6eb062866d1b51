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
    // The engine has its own threads; two files at a time keep two cores busy without starving each other.
    maxWorkers: 2,
  },
});
