/**
 * Which folders each process of a run loads: a start costs the time of all modules that are imported on the way from its entry, and a run starts many
 * processes. What a function imports when it is called does not count.
 */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const TS = resolve(import.meta.dirname, "../../../ts");
/** A static import or re-export of values. Types are gone from compiled code. */
const STATIC = /^(?:import|export)\s+(?!type\b)(?:[^";]*?\bfrom\s+)?"([^"]+)"/gmu;

/** The modules and packages that are loaded with `entry`, as paths below `ts/` and as names. */
function loadedWith(entry: string): string[] {
  const loaded = new Set<string>();
  const waiting = ["cli/main.ts", "cli/dispatch.ts", entry];
  for (let module = waiting.pop(); module !== undefined; module = waiting.pop()) {
    if (loaded.has(module)) continue;
    loaded.add(module);
    if (!module.endsWith(".ts")) continue;
    const file = join(TS, module);
    for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(STATIC)) {
      waiting.push(specifier.startsWith(".") ? relative(TS, resolve(dirname(file), specifier)) : specifier);
    }
  }
  return [...loaded];
}

/** What a process does not load: folders, files and packages. */
const NOT_LOADED: Readonly<Record<string, readonly string[]>> = {
  trainer: [
    "algorithms/",
    "environments/",
    "inference/",
    "launcher/",
    "orchestrator/",
    "renderers/",
    "sandbox/",
    "trainer/sft/",
    "undici",
    "verify/",
  ],
  orchestrator: [
    "environments/catalogue/",
    "environments/conversation/",
    "environments/index.ts",
    "fastify",
    "jinja/",
    "launcher/",
    "sandbox/",
    "trainer/",
    "verify/",
  ],
  inference: [
    "algorithms/",
    "environments/",
    "inference-client/inference-client.ts",
    "launcher/",
    "orchestrator/",
    "sandbox/",
    "trainer/",
    "undici",
    "verify/",
  ],
  "env-server": [
    "algorithms/",
    "environments/benchmarks/sets/",
    "environments/catalogue/code/",
    "environments/conversation/",
    "fastify",
    "inference/",
    "launcher/",
    "orchestrator/",
    "trainer/",
    "verify/math/verify-math.ts",
  ],
};

function reached(entry: string, unwanted: readonly string[]): string[] {
  return loadedWith(entry).filter((module) => unwanted.some((one) => module === one || module.startsWith(one)));
}

describe("the modules that a process loads", () => {
  test.each(Object.entries(NOT_LOADED))("prl %s", (command, unwanted) => {
    expect(reached(`cli/commands/processes/${command}.ts`, unwanted)).toEqual([]);
  });

  test("prl rl, the launcher", () => {
    const unwanted = [
      "algorithms/",
      "environments/conversation/",
      "environments/index.ts",
      "evals/",
      "fastify",
      "orchestrator/",
      "trainer/rl/run-trainer.ts",
    ];
    expect(reached("cli/commands/rl.ts", unwanted)).toEqual([]);
  });

  test("is found through all static imports, also those over several lines", () => {
    const loaded = loadedWith("cli/commands/processes/trainer.ts");
    expect(loaded).toEqual(
      expect.arrayContaining(["cli/dispatch.ts", "transports/index.ts", "trainer/rl/replay.ts", "zod"]),
    );
    expect(loaded).not.toContain("cli/bench/trainer.ts");
  });
});
