import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { checkInstruction } from "../../../ts/verify/index.ts";
import { IFEVAL } from "../../../ts/verify/instructions/ifeval.ts";

type Case = [id: string, kwargs: Record<string, unknown>, response: string, verdict: "strict" | "loose" | "no"];

const CASES: Case[] = [
  ["keywords:existence", { keywords: ["cat", "dog"] }, "Cats and dogs.", "strict"],
  ["keywords:existence", { keywords: ["cat", "dog"] }, "Cats.", "no"],
  ["keywords:frequency", { keyword: "ab", frequency: 2, relation: "at least" }, "ab cab", "strict"],
  ["keywords:frequency", { keyword: "ab", frequency: 2, relation: "less than" }, "ab cab", "no"],
  ["keywords:frequency", { keyword: "c++", frequency: 1, relation: "at least" }, "I like C++", "strict"],
  ["keywords:forbidden_words", { forbidden_words: ["bad"] }, "not bad-mannered", "no"],
  ["keywords:forbidden_words", { forbidden_words: ["bad"] }, "badly", "strict"],
  ["keywords:forbidden_words", { forbidden_words: ["sure"] }, "Sure!\nHere it is.", "loose"],
  ["keywords:letter_frequency", { letter: "e", let_frequency: 2, let_relation: "at least" }, "Eel", "strict"],
  ["keywords:existence", { keywords: ["cat", "dog"] }, "", "no"],
  ["keywords:letter_frequency", { letter: "#", let_frequency: 1, let_relation: "less than" }, "a # b", "no"],
  ["language:response_language", { language: "de" }, "Das ist ein Haus und es ist nicht der Garten.", "strict"],
  ["language:response_language", { language: "de" }, "This is the house and that is the garden.", "no"],
  ["language:response_language", { language: "hi" }, "यह एक घर है।", "strict"],
  ["language:response_language", { language: "ja" }, "これは家です。", "strict"],
  ["language:response_language", { language: "ko" }, "12345", "strict"],
  [
    "length_constraints:number_sentences",
    { num_sentences: 2, relation: "less than" },
    "Mr. Smith came at 5 p.m. today.",
    "strict",
  ],
  ["length_constraints:number_sentences", { num_sentences: 3, relation: "at least" }, "One. Two! Three?", "strict"],
  ["length_constraints:number_sentences", { num_sentences: 3, relation: "at least" }, "One. Two!", "no"],
  ["length_constraints:number_paragraphs", { num_paragraphs: 2 }, "a\n***\nb", "strict"],
  ["length_constraints:number_paragraphs", { num_paragraphs: 2 }, "a\n\nb", "no"],
  ["length_constraints:number_words", { num_words: 4, relation: "less than" }, "don't stop", "strict"],
  ["length_constraints:number_words", { num_words: 4, relation: "at least" }, "one two three", "no"],
  [
    "length_constraints:nth_paragraph_first_word",
    { num_paragraphs: 2, nth_paragraph: 2, first_word: "but" },
    "One.\n\nBut, two.",
    "strict",
  ],
  [
    "length_constraints:nth_paragraph_first_word",
    { num_paragraphs: 2, nth_paragraph: 1, first_word: "but" },
    "One.\n\nBut two.",
    "no",
  ],
  ["detectable_content:number_placeholders", { num_placeholders: 2 }, "[name], [address]", "strict"],
  ["detectable_content:number_placeholders", { num_placeholders: 3 }, "[name], [address]", "no"],
  ["detectable_content:postscript", { postscript_marker: "P.S." }, "Bye.\nP. S. more", "strict"],
  ["detectable_content:postscript", { postscript_marker: "P.P.S" }, "Bye.\nP.S. more", "no"],
  ["detectable_format:number_bullet_lists", { num_bullets: 2 }, "* a\n- b", "strict"],
  ["detectable_format:number_bullet_lists", { num_bullets: 1 }, "- intro\n- b", "loose"],
  ["detectable_format:number_bullet_lists", { num_bullets: 1 }, "**bold**\n1. one", "no"],
  ["detectable_format:constrained_response", {}, "My answer is maybe.", "strict"],
  ["detectable_format:constrained_response", {}, "my answer is maybe", "no"],
  ["detectable_format:number_highlighted_sections", { num_highlights: 2 }, "*a* and **b**", "strict"],
  ["detectable_format:number_highlighted_sections", { num_highlights: 3 }, "*a* and **b**", "no"],
  [
    "detectable_format:multiple_sections",
    { section_spliter: "SECTION", num_sections: 2 },
    "SECTION 1\na\nSECTION 2\nb",
    "strict",
  ],
  [
    "detectable_format:multiple_sections",
    { section_spliter: "SECTION", num_sections: 3 },
    "SECTION 1\na\nSECTION 2\nb",
    "no",
  ],
  ["detectable_format:json_format", {}, '```json\n{"a": 1}\n```', "strict"],
  ["detectable_format:json_format", {}, "{a: 1}", "no"],
  ["detectable_format:title", {}, "<<A title>>\ntext", "strict"],
  ["detectable_format:title", {}, "<< >>\ntext", "no"],
  ["combination:two_responses", {}, "a\n******\nb", "strict"],
  ["combination:two_responses", {}, "a\n******\na", "no"],
  ["combination:repeat_prompt", { prompt_to_repeat: "Say hello" }, "say hello\nHello.", "strict"],
  ["combination:repeat_prompt", { prompt_to_repeat: "Say hello" }, "Sure!\nSay hello\nHello.", "loose"],
  ["startend:end_checker", { end_phrase: "That is all." }, "Text. That is all.", "strict"],
  ["startend:end_checker", { end_phrase: "That is all." }, "That is all. Bye", "no"],
  ["startend:quotation", {}, '"quoted"', "strict"],
  ["startend:quotation", {}, '"', "no"],
  ["change_case:capital_word_frequency", { capital_frequency: 2, capital_relation: "less than" }, "ONE two", "strict"],
  ["change_case:capital_word_frequency", { capital_frequency: 2, capital_relation: "at least" }, "ONE two", "no"],
  ["change_case:english_capital", {}, "THIS IS THE WAY", "strict"],
  ["change_case:english_capital", {}, "DAS IST NICHT DER WEG UND DIE", "no"],
  ["change_case:english_lowercase", {}, "this is the way", "strict"],
  ["change_case:english_lowercase", {}, "This is the way", "no"],
  ["punctuation:no_comma", {}, "no commas here", "strict"],
  ["punctuation:no_comma", {}, "Well, then\nnone here", "loose"],
];

describe("checkInstruction", () => {
  test.each(CASES)("%s %j: %j is %s", (id, kwargs, response, verdict) => {
    expect(checkInstruction(id, kwargs, response)).toEqual({ strict: verdict === "strict", loose: verdict !== "no" });
  });

  test("every instruction has a case that follows it and one that does not", () => {
    expect(Object.keys(IFEVAL)).toHaveLength(25);
    for (const id of Object.keys(IFEVAL)) {
      expect(CASES.some(([one, , , verdict]) => one === id && verdict === "strict")).toBe(true);
      expect(CASES.some(([one, , , verdict]) => one === id && verdict !== "strict")).toBe(true);
    }
  });

  test("loose follows from strict, and an empty reply follows nothing", () => {
    fc.assert(
      fc.property(fc.constantFrom(...CASES), fc.string(), ([id, kwargs], response) => {
        const { strict, loose } = checkInstruction(id, kwargs, response);
        expect(loose || !strict).toBe(true);
        expect(checkInstruction(id, kwargs, " \n")).toEqual({ strict: false, loose: false });
      }),
    );
  });

  test("arguments are asked for, never made up", () => {
    expect(() => checkInstruction("no:such", {}, "a")).toThrow(/not known; known are keywords:existence/u);
    expect(() => checkInstruction("keywords:frequency", { keyword: "a" }, "a")).toThrow(
      /frequency: expected a whole number, got nothing/u,
    );
    expect(checkInstruction("combination:repeat_prompt", {}, "Say it. It.", { prompt: "say it." }).strict).toBe(true);
    expect(
      checkInstruction("keywords:frequency", { keyword: "a", frequency: 0, relation: "less than" }, "b").strict,
    ).toBe(false);
  });
});
