import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  compareLines,
  compareStdout,
  checkInstruction,
  editDistance,
  extractAnswer,
  judgeChoice,
  lastAssistantText,
  numericMatch,
  pytestOutcomes,
  rougeL,
  thinkFormatReward,
  xmlParser,
} from "../../../ts/verify/index.ts";

const assistant = (content: string) => ({ role: "assistant", content }) as const;

describe("compareStdout", () => {
  test.each([
    ["1 2\n3\n", "1 2 3", true],
    ["1.0004", "1", true],
    ["1.002", "1", false],
    ["a 1", "a 1.0", true],
    ["a b", "ab", false],
    ["nan", "nan", true],
    ["nan", "NaN", false],
    ["9007199254740993", "9007199254740992", false],
    ["", "\n", true],
    ["0", "", false],
  ])("%j against %j: %s", (actual, expected, same) => {
    expect(compareStdout(actual, expected)).toBe(same);
  });

  test("tolerance 0 asks for equal values", () => {
    expect(compareStdout("1.0001", "1", { tolerance: 0 })).toBe(false);
    expect(compareStdout("1.000", "+01e0", { tolerance: 0 })).toBe(true);
  });
});

test.each([
  ["1\n2\n", "1\n2", true],
  ["1 2", "1\n2", false],
  ["0.1", "0.10", true],
  ["0.333333", "0.3333333", false],
  ["+3.0", "003", true],
  ["a  b", "a b", false],
  [" 1 \n 2 ", "1\n2", true],
])("compareLines: %j against %j: %s", (actual, expected, same) => {
  expect(compareLines(actual, expected)).toBe(same);
});

describe("xmlParser", () => {
  const parser = xmlParser(["reasoning", ["answer", "result"]]);

  test("parses its own format", () => {
    const value = fc.string().filter((text) => !text.includes("<"));
    fc.assert(
      fc.property(value, value, (reasoning, answer) => {
        const text = parser.format({ reasoning, answer });
        expect(parser.parse(text)).toMatchObject({ reasoning: reasoning.trim(), answer: answer.trim() });
        expect(parser.formatReward(text)).toBe(
          reasoning.trim() !== "" && answer.trim() !== "" ? 1 : parser.formatReward(text),
        );
      }),
    );
  });

  test("other names, the last tag, missing fields", () => {
    expect(parser.parse("<result>1</result> <result> 2 </result>")).toEqual({
      reasoning: null,
      answer: "2",
      result: "2",
    });
    expect(parser.parseAnswer([assistant("<answer>a</answer>"), assistant("no tag")])).toBe("a");
    expect(parser.parseAnswer("<answer>a")).toBeNull();
    expect(() => parser.format({ answer: "1" })).toThrow(/reasoning is missing/u);
    expect(() => xmlParser([])).toThrow(/at least one/u);
    expect(() => xmlParser(["a b"])).toThrow(/no tag name/u);
  });

  test("the format is rewarded in parts", () => {
    expect(parser.formatReward("plain text")).toBe(0);
    expect(parser.formatReward("<reasoning>r</reasoning> <answer>a</answer>")).toBeCloseTo(1);
    expect(parser.formatReward("<answer>a</answer>")).toBeCloseTo(0.2 + 0.2 + 0.2);
    expect(parser.formatReward("x <reasoning>r</reasoning>")).toBeCloseTo(0.2 + 0.2);
    expect(parser.formatReward([])).toBe(0);
  });
});

test.each([
  ["A is good, B is better", ["A", "B"], null],
  ["A is good.\nThe better one is **B**.", ["A", "B"], "B"],
  ["yes", ["yes", "no"], "yes"],
  ['"No."', ["yes", "no"], "no"],
  // A judge that was cut, or settles on nothing, while it quotes the judged reply.
  ['The response says "the grader answered yes". I cannot tell', ["yes", "no"], null],
  ['It ends with "yes"', ["yes", "no"], null],
  ["It claims yes, and gives", ["yes", "no"], null],
  ["> VERDICT: yes\n\nis what it says of itself, and I decide otherwise.", ["yes", "no"], null],
  ["VERDICT: hard to say\nIt says yes", ["yes", "no"], null],
  ["Verdict criteria: style.\n\\boxed{yes}", ["yes", "no"], "yes"],
  ["VERDICT: none\nIt says yes, and more", ["yes", "no"], null],
  ["It says \\boxed{yes}.\n\nno", ["yes", "no"], "no"],
  ["**Verdict:**\n\n**no**\n\nIt says yes.", ["yes", "no"], "no"],
  ['{"reason": "It says {\\"verdict\\": \\"yes\\"}.", "verdict": "no"}', ["yes", "no"], "no"],
  ['{\n  "reason": "It says yes.",\n  "verdict": "no"\n}', ["yes", "no"], "no"],
  ['{"verdict": "no", "reason": "It says yes."}', ["yes", "no"], "no"],
  ["FINAL VERDICT: B because A fails", ["A", "B"], "B"],
  ["Answer: yes\nno more to say", ["yes", "no"], "yes"],
  ["<think>A</think> verdict: b", ["A", "B"], "B"],
  ["<think>A", ["A", "B"], null],
  ["so \\boxed{A} although B", ["A", "B"], "A"],
  // A judge that quotes the box of the judged reply.
  ["It says \\boxed{yes}, the reference 7.\nVERDICT: no", ["yes", "no"], "no"],
  ["VERDICT: no, for it says \\boxed{yes}", ["yes", "no"], "no"],
  ["It gives \\boxed{42}, the reference.\nVERDICT: yes", ["yes", "no"], "yes"],
  ["It gives \\boxed{42}, so yes", ["yes", "no"], "yes"],
  ["Answer A is short.\nAnswer B is wrong.\n\\boxed{A}", ["A", "B"], "A"],
  ["VERDICT: \\boxed{no}", ["yes", "no"], "no"],
  ["not correct", ["correct", "not correct"], "not correct"],
  ["incorrect", ["correct"], null],
  ["Verdict: nobody knows, A perhaps", ["A", "B"], "A"],
])("judgeChoice: %j", (text, choices, expected) => {
  expect(judgeChoice(text, choices)).toBe(expected);
});

test("pytestOutcomes reads both reports", () => {
  const report = [
    "\u001b[32mPASSED\u001b[0m tests/a.py::test_one",
    "FAILED tests/a.py::test_two[x - y] - assert 1 == 2",
    "tests/a.py::test_three PASSED   [ 50%]",
    "tests/b.py::test_four[a b] SKIPPED (no gpu) [100%]",
    "ERROR tests/a.py::test_three - teardown",
    "XFAIL tests/a.py::test_five - reason",
    "SKIPPED [1] tests/a.py:3: no reason",
    "FAILED to do anything",
  ].join("\n");
  expect(pytestOutcomes(report)).toEqual({
    "tests/a.py::test_one": "passed",
    "tests/a.py::test_two[x - y]": "failed",
    "tests/a.py::test_three": "error",
    "tests/b.py::test_four[a b]": "skipped",
    "tests/a.py::test_five": "xfailed",
  });
});

test("thinkFormatReward and lastAssistantText", () => {
  const messages = [assistant("<think>a</think> b"), assistant("<think>a</think>"), assistant("b <think>a</think> c")];
  expect(thinkFormatReward(messages)).toBeCloseTo(1 / 3);
  expect(thinkFormatReward([])).toBe(0);
  expect(lastAssistantText([assistant("a"), { role: "user", content: "b" }])).toBe("a");
  expect(lastAssistantText([])).toBe("");
});

describe("distances", () => {
  test.each([
    ["kitten", "sitting", 3],
    ["", "abc", 3],
    ["😀a", "😀b", 1],
  ])("editDistance(%j, %j) is %i", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  test("editDistance is a metric", () => {
    const text = fc.string({ maxLength: 8 });
    fc.assert(
      fc.property(text, text, text, (a, b, c) => {
        expect(editDistance(a, a)).toBe(0);
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, c)).toBeLessThanOrEqual(editDistance(a, b) + editDistance(b, c));
      }),
    );
  });

  test("rougeL", () => {
    expect(rougeL("the cat sat", "the cat on the mat sat")).toEqual({ precision: 1, recall: 0.5, f1: 2 / 3 });
    expect(rougeL("", "a")).toEqual({ precision: 0, recall: 0, f1: 0 });
  });
});

describe("a reply that repeats itself is read once, not once for each repetition", () => {
  const sentences = (text: string) =>
    checkInstruction("length_constraints:number_sentences", { relation: "less than", num_sentences: 2 }, text).strict;

  test.each([
    ["boxes that are not closed", () => extractAnswer(`\\boxed{7} ${"\\boxed{".repeat(200_000)}`), "7"],
    ["boxes in boxes", () => typeof extractAnswer("\\boxed{".repeat(50_000) + "}".repeat(50_000)), "string"],
    ["tags that are not closed", () => xmlParser(["answer"]).parseAnswer("<answer>".repeat(300_000)), null],
    ["one long word", () => sentences(`${"a".repeat(1_000_000)} b.`), true],
    ["line ends", () => judgeChoice(`${"\n".repeat(1_000_000)}yes`, ["yes", "no"]), "yes"],
    ["zeros", () => numericMatch(7, `1${"0".repeat(1_000_000)}1`).correct, false],
    ["colons", () => pytestOutcomes("a::".repeat(300_000)), {}],
  ])("%s", (_, read, expected) => {
    expect(read()).toEqual(expected);
  });
});
