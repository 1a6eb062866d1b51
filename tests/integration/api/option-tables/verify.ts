/** Options of `prl-lm/environments/verify`. */
import {
  bleu,
  compareStdout,
  checkBalance,
  checkInstruction,
  embeddingScorer,
  exactMatch,
  extractAnswer,
  gradeProgram,
  matchPattern,
  numericMatch,
  stripThinking,
  programReward,
  rewardModelScorer,
  verifyEquation,
  verifyMath,
  verifyQuantity,
  xmlParser,
} from "../../../../ts/verify/index.ts";
import type { OptionTable } from "./table.ts";

const V = { code: "PRL_VERIFY_OPTIONS" };
export const VERIFIERS: OptionTable = {
  extractAnswer: { ...V, call: (more) => extractAnswer("a", more), wrong: { from: 3, strict: "yes" } },
  stripThinking: { ...V, call: (more) => stripThinking("a", more), wrong: { strict: 1 } },
  compareStdout: { ...V, call: (more) => compareStdout("1", "2", more), wrong: { tolerance: Number.NaN } },
  xmlParser: { ...V, call: (more) => xmlParser(["a"], more), wrong: { answerField: 1 } },
  bleu: { ...V, call: (more) => bleu("a", "b", more), wrong: { maxOrder: Number.NaN, smoothing: "add" } },
  exactMatch: { ...V, call: (more) => exactMatch("a", "b", more), wrong: { ignoreCase: "yes" } },
  numericMatch: {
    ...V,
    call: (more) => numericMatch(1, "1", more),
    wrong: { relative: Number.NaN, absolute: "1" },
  },
  matchPattern: {
    ...V,
    call: (more) => matchPattern("a", "a", more),
    wrong: { flags: 1, mode: "all", deadlineMs: Number.NaN },
  },
  gradeProgram: {
    ...V,
    call: (more) =>
      gradeProgram({} as never, { language: "python", code: "", tests: [{ input: "", output: "" }], ...more }),
    wrong: { timeLimitMs: Infinity, tolerance: Number.NaN, tests: 3, compare: "all", signal: 1 },
  },
  programReward: {
    ...V,
    call: (more) => programReward({ verdict: "accepted", results: [], message: "" } as never, more),
    wrong: { partial: 1 },
  },
  verifyMath: {
    ...V,
    call: (more) => verifyMath("1", "1", more),
    wrong: { strict: 1, targets: ["box"], precision: -1 },
  },
  verifyQuantity: {
    ...V,
    call: (more) => verifyQuantity("1 m", "1 m", more),
    wrong: { tolerance: { relativ: 1 }, significantFigures: 1.5, unitOptional: "yes" },
  },
  verifyEquation: {
    ...V,
    call: (more) => verifyEquation("2 H2 + O2 -> 2 H2O", "2 H2 + O2 -> 2 H2O", more),
    wrong: { smallest: 1, states: "no" },
  },
  checkBalance: { ...V, call: (more) => checkBalance("2 H2 + O2 -> 2 H2O", more), wrong: { smallest: 1 } },
  checkInstruction: {
    ...V,
    call: (more) => checkInstruction("punctuation:no_comma", {}, "a", more),
    wrong: { prompt: 1 },
  },
  embeddingScorer: {
    ...V,
    call: (more) => embeddingScorer({ model: "a.onnx", tokenizer: "a", ...more }),
    wrong: { pooling: "sum", threads: "1", model: 3 },
  },
  rewardModelScorer: {
    ...V,
    call: (more) => rewardModelScorer({ model: "a.onnx", tokenizer: "a", ...more }),
    wrong: { activation: "relu", label: "good", render: "text" },
  },
};
