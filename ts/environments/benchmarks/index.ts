/** The benchmarks that people quote, by name, and suites of them. The environment of one has the id `benchmark/<name>`. */
import { nearest } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { Environment } from "../model/environment.ts";
import type { AnyBenchmark } from "./benchmark.ts";
import { environmentOf } from "./benchmark-environment.ts";
import { benchmarkName } from "./benchmark-id.ts";
import { aime2024, aime2025 } from "./sets/aime.ts";
import { bfcl } from "./sets/bfcl.ts";
import { gpqaDiamond } from "./sets/gpqa.ts";
import { gsm8k } from "./sets/gsm8k.ts";
import { humanEvalPlus } from "./sets/human-eval-plus.ts";
import { ifbench, ifeval } from "./sets/ifeval.ts";
import { liveCodeBench } from "./sets/live-code-bench.ts";
import { math500 } from "./sets/math-500.ts";
import { mbppPlus } from "./sets/mbpp-plus.ts";
import { mmluPro } from "./sets/mmlu-pro.ts";
import { simpleQa } from "./sets/simple-qa.ts";

const ALL: readonly AnyBenchmark[] = [
  gsm8k,
  math500,
  aime2024,
  aime2025,
  gpqaDiamond,
  mmluPro,
  ifeval,
  ifbench,
  humanEvalPlus,
  mbppPlus,
  liveCodeBench,
  bfcl,
  simpleQa,
];

export const BENCHMARKS: ReadonlyMap<string, AnyBenchmark> = new Map(
  ALL.map((benchmark) => [benchmark.name, benchmark]),
);

export interface Suite {
  readonly name: string;
  readonly summary: string;
  /** Names of benchmarks. */
  readonly benchmarks: readonly string[];
}

export const SUITES: readonly Suite[] = [
  { name: "knowledge", summary: "questions with options", benchmarks: ["gpqa-diamond", "mmlu-pro"] },
  {
    name: "code",
    summary: "Python programs, run in sandboxes",
    benchmarks: ["human-eval-plus", "mbpp-plus", "live-code-bench"],
  },
  { name: "facts", summary: "short answers about facts, graded by a judge model", benchmarks: ["simple-qa"] },
  { name: "tools", summary: "calls of functions", benchmarks: ["bfcl"] },
  { name: "instructions", summary: "instructions that a program checks", benchmarks: ["ifeval", "ifbench"] },
  {
    name: "math",
    summary: "mathematics from primary school to competitions",
    benchmarks: ["gsm8k", "math-500", "aime-2024", "aime-2025"],
  },
  {
    name: "reasoning",
    summary: "what reasoning models are compared by",
    benchmarks: ["math-500", "aime-2024", "aime-2025", "gpqa-diamond", "mmlu-pro"],
  },
];

/** Errors: PRL_BENCHMARK_UNKNOWN. */
export function findBenchmark(name: string): AnyBenchmark {
  return found("benchmark", name, BENCHMARKS.get(name), [...BENCHMARKS.keys()]);
}

/** Errors: PRL_BENCHMARK_UNKNOWN. */
export function findSuite(name: string): Suite {
  return found(
    "suite",
    name,
    SUITES.find((suite) => suite.name === name),
    SUITES.map((suite) => suite.name),
  );
}

function found<Found>(kind: string, name: string, one: Found | undefined, names: readonly string[]): Found {
  if (one !== undefined) return one;
  const near = nearest(name, [...names]);
  const advice = near === null ? `there are ${names.join(", ")}` : `did you mean "${near}"?`;
  throw new PrlError("PRL_BENCHMARK_UNKNOWN", `no ${kind} is named "${name}"; ${advice} (prl eval --list-suites)`);
}

/** The environment of `benchmark/<name>`. Errors: PRL_BENCHMARK_UNKNOWN. */
export function benchmarkEnvironment(id: string): Environment {
  return environmentOf(findBenchmark(benchmarkName(id)));
}
