/** The readers of verifiers, judges and graders: replies of models, answers of judges, reports of programs. */
import { readReference } from "../../../ts/environments/judge/judge-reference.ts";
import { readVerdicts } from "../../../ts/environments/judge/judge-rubric.ts";
import { gpqaChoice, mmluProChoice } from "../../../ts/environments/benchmarks/scoring/choices.ts";
import { minervaAnswer, minervaNormalized } from "../../../ts/environments/benchmarks/scoring/minerva.ts";
import { gradeOf } from "../../../ts/environments/benchmarks/scoring/simple-qa/grade.ts";
import {
  balanceEquation,
  bleu,
  checkInstruction,
  compareLines,
  compareStdout,
  extractAnswer,
  extractCode,
  INSTRUCTION_IDS,
  judgeChoice,
  numericMatch,
  parseFormula,
  parseQuantity,
  pytestOutcomes,
  sequenceRatio,
  stripThinking,
  verifyEquation,
  verifyFormula,
  verifyQuantity,
  xmlParser,
} from "../../../ts/verify/index.ts";
import { validateJson, SchemaError } from "../../../ts/verify/match/json-schema.ts";
import { judge } from "../../../ts/verify/math/judge.ts";
import { parseExactJson } from "../../../ts/verify/program/exact-json.ts";
import { holds, type Target, textOf } from "../engine/target.ts";

const MATH: Parameters<typeof judge>[2] = {
  precision: 6,
  strict: true,
  allowSetRelations: true,
  targets: ["boxed", "phrase", "latex", "number", "whole"],
  boxedPriority: "normal",
};
const CRITERIA = [
  { name: "clear", text: "It is clear." },
  { name: "short", text: "It is short." },
];

/** The two halves of an input, which a line with a bar separates. */
function halves(input: Uint8Array): [string, string] {
  const text = textOf(input);
  const at = text.indexOf("\n|\n");
  return at < 0 ? [text, text] : [text.slice(0, at), text.slice(at + 3)];
}

/** Runs each of the readers; none may throw anything without a code. */
const each =
  (...readers: readonly ((text: string) => unknown)[]) =>
  (input: Uint8Array) => {
    const text = textOf(input);
    for (const reader of readers) reader(text);
  };

export const VERDICT_TARGETS: readonly Target[] = [
  {
    name: "math-answers",
    starts: [
      "\\frac{1}{2}\n|\nThe answer is \\boxed{0.5}.",
      "x \\in [0, 5) \\cup (7, \\infty)\n|\n$0\\le x<5$ or $x>7$",
      "\\int_0^1 x^2 dx\n|\n\\dfrac13",
      "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}\n|\n[[1,2],[3,4]]",
      "y = 3x + 2, AB=4\n|\n5.3 \\text{ km/h}",
      "101_2 \\pmod 7\n|\n12,102\\%",
    ],
    words: [
      "\\frac{",
      "\\sqrt[3]{",
      "\\sum_{n=1}^{\\infty}",
      "\\lim_{x\\to 0}",
      "\\int",
      "\\binom{",
      "\\boxed{",
      "}",
      "{",
      "^",
      "_",
      "!",
      "\\pi",
      "\\cup",
      "\\begin{cases}",
      "\\end{cases}",
      "\\\\",
      "&",
      "(",
      ")",
      "[",
      "]",
      "|",
      "\n|\n",
      "\\left",
      "\\right",
      "10^",
      "99999",
      "°",
      "½",
      "−",
      "\\text{",
      "\\det",
      "<think>",
      "</think>",
      "or",
      ",",
    ],
    // The verifier runs this in a thread with a deadline of seconds.
    mostBytes: 400,
    read(input) {
      const [gold, answer] = halves(input);
      judge(gold, answer, MATH);
      judge(answer, gold, MATH);
    },
  },
  {
    name: "science-answers",
    starts: [
      "9.81 m/s^2",
      "6.02(3)e23 mol^-1",
      "Fe2(SO4)3·5H2O^{2-}",
      "2H2 + O2 -> 2H2O",
      "3.0 \\times 10^8 \\frac{m}{s}",
    ],
    words: [
      "kg",
      "m",
      "s",
      "/",
      "^",
      "·",
      "\\times 10^",
      "±",
      "(",
      ")",
      "[",
      "]",
      "->",
      "<=>",
      "+",
      "e23",
      "°C",
      "\\mathrm{",
      "{",
      "}",
      "_2",
      "²⁺",
      "9999999999",
      "\\frac{",
      "%",
    ],
    mostBytes: 1000,
    read: each(
      parseQuantity,
      parseFormula,
      (text) => verifyQuantity("9.81 m/s^2", text),
      (text) => verifyQuantity(text, text),
      (text) => verifyFormula("H2SO4", text),
      balanceEquation,
      (text) => verifyEquation("2H2 + O2 -> 2H2O", text),
    ),
  },
  {
    name: "reply-texts",
    starts: [
      "<think>hm</think>The answer is \\boxed{\\frac{1}{2}} and \\boxed{3}.\n#### 1,234.5",
      "```python\nprint(1)\n```\n<reasoning>r</reasoning><answer>a</answer>\nAnswer: (B)",
      "PASSED tests/a.py::test_x[a - b]\ntests/a.py::test_y FAILED [ 50%] - no\n\u001b[31mERROR\u001b[0m a.py::z",
      '{"verdicts": [{"name": "clear", "reason": "r", "verdict": "yes"}, {"name": "short", "reason": "r", "verdict": "no"}]}',
    ],
    words: [
      "\\boxed{",
      "{",
      "}",
      "####",
      "<think>",
      "</think>",
      "```",
      "```python\n",
      "~~~",
      "<answer>",
      "</answer>",
      "\n",
      " - ",
      "[",
      "]",
      "::",
      "PASSED ",
      "FAILED ",
      "**",
      "(A)",
      "answer is ",
      "Verdict: ",
      '"',
      "\\",
      "$",
      ".",
      ",",
      "1,000",
      "  ",
      "\t",
    ],
    read: each(
      (text) =>
        (["boxed", "hash", "last_number", "the_answer_is"] as const).map((from) => extractAnswer(text, { from })),
      (text) => extractAnswer(text, { strict: false }),
      stripThinking,
      (text) => extractCode(text, null),
      (text) => extractCode(text, "python"),
      (text) => judgeChoice(text, ["yes", "no", "CORRECT"]),
      pytestOutcomes,
      (text) => xmlParser(["reasoning", ["answer", "final"]]).formatReward([{ role: "assistant", content: text }]),
      (text) => xmlParser(["reasoning", ["answer", "final"]]).parse(text),
      (text) => numericMatch(3, text),
      (text) => readVerdicts(text, CRITERIA),
      readReference,
      gpqaChoice,
      mmluProChoice,
      (text) => minervaNormalized(minervaAnswer(text)),
      gradeOf,
    ),
  },
  {
    name: "compared-texts",
    starts: ["1 2.50\nabc\n|\n1 2.5\nabc \n", "the cat sat\n|\nthe cat sits"],
    words: ["\n|\n", "\n", " ", "1e-9", "nan", "-0", "0x1", "\t", "\r\n", "YES"],
    mostBytes: 4096,
    read(input) {
      const [a, b] = halves(input);
      holds(compareStdout(a, a), "a text is another one than itself");
      compareStdout(a, b, { tolerance: 1e-6 });
      compareLines(a, b);
      sequenceRatio(a, b);
      bleu(a, b);
    },
  },
  {
    name: "instructions",
    starts: [
      "Dear all,\n\nI am here. *Two* words: <<title>>\n\nP.S. bye",
      "* one\n* two\n\n***\nIs it? Yes! [name] 12, 13.",
    ],
    words: [
      "\n\n",
      "***",
      "* ",
      "<<",
      ">>",
      "[",
      "]",
      "P.S.",
      ".",
      "?",
      "!",
      ",",
      "\n",
      '"',
      "{",
      "}",
      "- ",
      "ALL",
      "é",
      "你",
      "  ",
    ],
    mostBytes: 4096,
    inputs: 60,
    read(input) {
      const text = textOf(input);
      for (const id of INSTRUCTION_IDS) {
        try {
          checkInstruction(id, INSTRUCTION_ARGUMENTS, text, { prompt: "Write one." });
        } catch (error) {
          // Arguments of other instructions are missing here.
          if (!(error instanceof Error && "code" in error)) throw error;
        }
      }
    },
  },
  {
    name: "json-schema-answers",
    starts: [
      '{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}}},"$defs":{"b":{"enum":[1,null]}},"required":["a"]}\n|\n{"a":[1,null]}',
    ],
    words: [
      '"',
      ":",
      ",",
      "{",
      "}",
      "[",
      "]",
      '"$ref":"#"',
      '"anyOf":[',
      '"not":',
      '"pattern":"a"',
      '"minimum":',
      '"uniqueItems":true',
      '"additionalProperties":false',
      '"if":',
      '"const":',
      '"format":',
      "1e999",
      '"__proto__":',
      "\n|\n",
    ],
    mostBytes: 2048,
    read(input) {
      const values: unknown[] = [];
      for (const half of halves(input)) {
        try {
          values.push(JSON.parse(half));
        } catch {
          return;
        }
      }
      try {
        validateJson(values[0], values[1]);
      } catch (error) {
        // The thread that runs this takes both for an answer.
        if (!(error instanceof SchemaError) && !(error instanceof RangeError)) throw error;
      }
    },
  },
  {
    name: "program-values",
    starts: ['{"a": [1, 2.50, -3e7, true, null, "x\\u0041"], "b": {}}'],
    words: ['"', ":", ",", "{", "}", "[", "]", "NaN", "Infinity", "-", "1e9", "\\u", "\\", "null", "00", "."],
    read(input) {
      try {
        parseExactJson(textOf(input));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    },
  },
];

/** Arguments that the instructions take. */
const INSTRUCTION_ARGUMENTS = {
  N: 2,
  keywords: ["here", "all"],
  keyword: "here",
  frequency: 2,
  relation: "at least",
  num_words: 3,
  num_sentences: 2,
  num_paragraphs: 2,
  num_highlights: 1,
  num_bullets: 2,
  num_placeholders: 1,
  num_sections: 1,
  section_spliter: "SECTION",
  letter: "a",
  let_frequency: 1,
  let_relation: "less than",
  capital_frequency: 1,
  capital_relation: "at least",
  language: "en",
  end_phrase: "bye",
  postscript_marker: "P.S.",
  forbidden_words: ["no"],
  prompt_to_repeat: "Write one.",
  nth_paragraph: 1,
  first_word: "Dear",
  names: ["Ann"],
  small_n: 1,
  word: "here",
  sep: ",",
};
