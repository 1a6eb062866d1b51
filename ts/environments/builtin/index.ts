/** The environments that come with prl, by id; each is loaded at its first use. */
import type { Environment } from "../model/environment.ts";

export interface BuiltinEnvironment {
  /** One line for lists. */
  readonly description: string;
  readonly load: () => Promise<{ default: Environment }>;
}

export const BUILTIN: ReadonlyMap<string, BuiltinEnvironment> = new Map([
  [
    "alphabet-sort",
    {
      description: "names that come in turn by turn, sorted; several turns, similarity as reward",
      load: () => import("./alphabet-sort/index.ts"),
    },
  ],
  [
    "arithmetic-chain",
    {
      description: "a row of plus, minus, times and remainder; one turn, right or wrong",
      load: () => import("./arithmetic-chain/index.ts"),
    },
  ],
  [
    "code-contests",
    {
      description: "programs for problems with input and output, run on hidden tests in a sandbox",
      load: () => import("./code-contests/index.ts"),
    },
  ],
  [
    "countdown",
    {
      description: "reach a target with given numbers, checked by exact arithmetic",
      load: () => import("./countdown/index.ts"),
    },
  ],
  [
    "gsm8k",
    {
      description: "word problems whose answer is a whole number behind ####",
      load: () => import("./gsm8k/index.ts"),
    },
  ],
  [
    "instruction-following",
    {
      description: "a text that follows one to four verifiable instructions",
      load: () => import("./instruction-following/index.ts"),
    },
  ],
  [
    "json-extraction",
    {
      description: "facts from a text as JSON; the share of right fields as reward",
      load: () => import("./json-extraction/index.ts"),
    },
  ],
  [
    "kuhn-poker",
    {
      description: "a hand of poker between two seats of the policy: self-play",
      load: () => import("./kuhn-poker/index.ts"),
    },
  ],
  [
    "math",
    {
      description: "problems with an exact answer in \\boxed{}, compared as mathematics",
      load: () => import("./math/index.ts"),
    },
  ],
  [
    "proposer-solver",
    {
      description: "one agent makes problems that another solves some of the time",
      load: () => import("./proposer-solver/index.ts"),
    },
  ],
  [
    "python-repl",
    {
      description: "mathematics with a Python interpreter as tool, in a sandbox",
      load: () => import("./python-repl/index.ts"),
    },
  ],
  [
    "reverse-text",
    {
      description: "a string reversed; one turn, similarity as reward, with demonstrations",
      load: () => import("./reverse-text/index.ts"),
    },
  ],
  [
    "sudoku",
    {
      description: "a grid with one solution; partial credit on demand",
      load: () => import("./sudoku/index.ts"),
    },
  ],
  [
    "terminal",
    {
      description: "an agent program with a shell does chores in a sandbox",
      load: () => import("./terminal/index.ts"),
    },
  ],
  [
    "tool-lookup",
    {
      description: "questions that only tools can answer, each from a small world of its seed",
      load: () => import("./tool-lookup/index.ts"),
    },
  ],
  [
    "wordle",
    {
      description: "a five-letter word in six guesses; several turns, three rewards",
      load: () => import("./wordle/index.ts"),
    },
  ],
]);
