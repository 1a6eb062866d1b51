/** The environments that come with prl, by id; each is loaded when it is asked for. */
import type { Environment } from "../environment.ts";

export const BUILTIN: ReadonlyMap<string, () => Promise<{ default: Environment }>> = new Map([
  ["alphabet-sort", () => import("./alphabet-sort/index.ts")],
  ["arithmetic-chain", () => import("./arithmetic-chain/index.ts")],
  ["code-contests", () => import("./code-contests/index.ts")],
  ["countdown", () => import("./countdown/index.ts")],
  ["gsm8k", () => import("./gsm8k/index.ts")],
  ["instruction-following", () => import("./instruction-following/index.ts")],
  ["json-extraction", () => import("./json-extraction/index.ts")],
  ["kuhn-poker", () => import("./kuhn-poker/index.ts")],
  ["math", () => import("./math/index.ts")],
  ["proposer-solver", () => import("./proposer-solver/index.ts")],
  ["python-repl", () => import("./python-repl/index.ts")],
  ["reverse-text", () => import("./reverse-text/index.ts")],
  ["terminal", () => import("./terminal/index.ts")],
  ["sudoku", () => import("./sudoku/index.ts")],
  ["tool-lookup", () => import("./tool-lookup/index.ts")],
  ["wordle", () => import("./wordle/index.ts")],
]);
