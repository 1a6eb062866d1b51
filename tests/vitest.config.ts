import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    pool: "forks",
    // They end a test that hangs, and decide nothing else: a machine under load is five times slower than a quiet one.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The engine has its own threads; two files at a time keep two cores busy without starving each other.
    maxWorkers: 2,
  },
});
