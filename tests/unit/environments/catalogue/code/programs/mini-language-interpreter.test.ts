/** mini-language-interpreter: what a function sees of a program's blocks is what the definition says. */
import { expect, test } from "vitest";

import {
  drawLanguage,
  type Language,
} from "../../../../../../ts/environments/catalogue/code/mini-language-interpreter/language.ts";
import { definitionOf } from "../../../../../../ts/environments/catalogue/code/mini-language-interpreter/rules.ts";
import { shownByTree } from "../../../../../../ts/environments/catalogue/code/mini-language-interpreter/run.ts";
import type { Block } from "../../../../../../ts/environments/catalogue/code/mini-language-interpreter/syntax.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";

test("a function does not see the variables of a block of the program, and the definition says so", () => {
  const drawn = drawLanguage(createRng(1), 1);
  const rules = { ...drawn.rules, sight: "global", unknown: "nought", truth: "nonzero", range: "none" } as const;
  const program: Block = [
    { do: "set", name: "a", to: { number: 3 } },
    {
      do: "define",
      name: "f",
      parameters: ["x"],
      body: [
        { do: "show", value: { name: "a" } },
        { do: "return", value: { name: "b" } },
      ],
    },
    {
      do: "if",
      test: { number: 1 },
      holds: [
        { do: "set", name: "b", to: { number: 5 } },
        { do: "show", value: { call: "f", values: [{ number: 1 }] } },
      ],
      fails: [],
    },
  ];
  const seenWith = (blocks: boolean): { lines: string[]; text: string } => {
    const language: Language = { ...drawn, features: ["sight", "blocks"], rules: { ...rules, blocks } };
    return { lines: shownByTree(language, program), text: definitionOf(language).meaning.join("\n") };
  };
  expect(seenWith(true).lines).toEqual(["3", "0"]);
  expect(seenWith(true).text).toContain("those of the program outside of functions and of blocks");
  expect(seenWith(false).lines).toEqual(["3", "5"]);
  expect(seenWith(false).text).not.toContain("and of blocks");
});
