/** The answers that our own scorers find in a reply. */
import { describe, expect, test } from "vitest";

import { findBenchmark } from "../../../../ts/environments/benchmarks/index.ts";
import { mmluProChoice } from "../../../../ts/environments/benchmarks/scoring/choices.ts";

describe("AIME's number", () => {
  const answer = (reply: string): unknown => findBenchmark("aime-2025").answer?.(reply, "33" as never);

  test.each([
    "\\boxed{33}",
    "\\boxed{033}",
    "\\boxed{\\textbf{(33)}}",
    "\\boxed{33^\\circ}",
    "\\boxed{33^{\\circ}}",
    "\\boxed{m+n = 33}",
    "\\boxed{33\\text{ cm}}",
    "\\boxed{\\$33}",
    "\\boxed{33.}",
    "<think>\\boxed{34}</think> So \\boxed{ 33 }.",
  ])("is 33 in %s", (reply) => {
    expect(answer(reply)).toBe("33");
  });

  test.each([
    "\\boxed{-33}",
    "\\boxed{\\sqrt{33}}",
    "\\boxed{33\\pi}",
    "\\boxed{33!}",
    "\\boxed{.33}",
    "\\boxed{33.5}",
    "\\boxed{3}, \\boxed{3}",
    "\\boxed{3, 3}",
    "$x=\\boxed{3}$ or $x=\\boxed{33}$",
    "\\boxed{n+33}",
    "\\boxed{3333}",
    "33",
  ])("is not 33 in %s", (reply) => {
    expect(answer(reply)).toBeNull();
  });
});

test.each([
  ["Answer: A\nanswer: B", "A"],
  ["Answer: A, no, answer: B\nAnswer: C", "B"],
  ["Answer:\nD", "D"],
  ["I take A or B", "B"],
  ["none", null],
  [`${"x".repeat(500_000)} J`, "J"],
])("MMLU-Pro's letter: %#", (reply, letter) => {
  expect(mmluProChoice(reply)).toBe(letter);
});
