import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // The engine has its own threads; two files at a time keep two cores busy without starving each other.
    maxWorkers: 2,
  },
});
