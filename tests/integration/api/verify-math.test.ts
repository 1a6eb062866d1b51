import { describe, expect, test } from "vitest";

import { verifyMath } from "prl-lm/environments/verify";

describe("verifyMath", () => {
  test.each([
    ["nested sums", "\\sum_{a=1}^{10000}\\sum_{b=1}^{10000}ab", "1"],
    ["a tower of powers", "9^{9^{9^{9}}}", "9^{9^{9^{9}}} + 1"],
    ["a factorial tower", "((10!)!)!", "1"],
    ["braces", "{".repeat(10_000) + "1" + "}".repeat(10_000), "2"],
    ["brackets", "(".repeat(20_000) + "1" + ")".repeat(20_000), "2"],
    ["letters", "x".repeat(20_000), "y"],
    ["bars", "|".repeat(2000) + "1" + "|".repeat(2000), "2"],
    ["boxes that are not closed", "\\boxed{".repeat(3000), "1"],
    ["unions", "(1,2)\\cup".repeat(5000) + "(3,4)", "(1,2)"],
    ["a long power against itself", "10^{100000}", "10^{99999}"],
    ["commas", "1,2,".repeat(10_000), "1"],
    ["numerals with bases", "1_2".repeat(10_000), "1"],
    ["upright letters", "5\\mathrm{".repeat(5000) + "}".repeat(5000), "5"],
    ["currencies", "\\$5".repeat(15_000), "5"],
    ["names", Array.from({ length: 3000 }, (_, i) => `x_{${i}}=${i}`).join(","), "5"],
    ["factorials of letters", "n!".repeat(300), "n"],
    ["equations in several letters", "\\sin(xy)+x^y+y^x=1", "\\sin(xy)+x^y+y^x=\\cos x"],
    ["code", "__import__('os').system('ls')", "0"],
  ])("%s: an answer within the deadline", async (_name, gold, answer) => {
    const verdict = await verifyMath(gold, answer, { deadlineMs: 300 });
    expect(verdict.correct).toBe(false);
  });

  test("a late pair is a timeout and does not delay those behind it beyond its deadline", async () => {
    const late = verifyMath("\\sum_{a=1}^{10000}\\sum_{b=1}^{10000}ab", "1", { deadlineMs: 100 });
    const others = Array.from({ length: 40 }, (_, i) => verifyMath(String(i), `${i}.0`));
    expect(await late).toEqual({ correct: false, status: "timeout" });
    for (const verdict of await Promise.all(others)) expect(verdict).toEqual({ correct: true, status: "ok" });
  });

  test("options", async () => {
    expect((await verifyMath("3.14", "3.1416", { precision: 2 })).correct).toBe(true);
    expect((await verifyMath("x^2 + 1", "t^2 + 1")).correct).toBe(false);
    expect((await verifyMath("x^2 + 1", "t^2 + 1", { strict: false })).correct).toBe(true);
    expect((await verifyMath("(1, 2]", "1 < x <= 2", { allowSetRelations: false })).correct).toBe(false);
    expect((await verifyMath("7", "\\boxed{8}. The final answer is 7.", { boxedPriority: "first" })).correct).toBe(
      false,
    );
    expect((await verifyMath("7", "\\boxed{8}. The final answer is 7.")).correct).toBe(true);
    await expect(verifyMath("1", "1", { precision: 99 })).rejects.toThrow(/precision: expected a whole number/u);
    await expect(verifyMath("1", "1", { deadlineMs: 0 })).rejects.toThrow(/deadlineMs/u);
    const unknown = "somewhere" as "boxed";
    await expect(verifyMath("1", "1", { targets: [unknown] })).rejects.toThrow(/targets: .*got \["somewhere"\]/u);
    await expect(verifyMath("1", "1", { targets: [] })).rejects.toThrow(/targets/u);
    await expect(verifyMath("1", "1", { targets: "boxed" as never })).rejects.toThrow(/targets/u);
    const often = "often" as "first";
    await expect(verifyMath("1", "1", { boxedPriority: often })).rejects.toThrow(/boxedPriority: .*got "often"/u);
  });

  test("thousands of pairs at once come back in any order of asking", async () => {
    const verdicts = await Promise.all(
      Array.from({ length: 3000 }, (_, i) => verifyMath(`\\frac{${i}}{7}`, i % 3 === 0 ? `${2 * i}/14` : `${i}/8`)),
    );
    verdicts.forEach((verdict, i) => expect(verdict).toEqual({ correct: i % 3 === 0, status: "ok" }));
  });
});
