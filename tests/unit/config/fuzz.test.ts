/** Config files of pieces of TOML in any order: each is read, or refused with a code and a short message. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { loadConfig } from "../../../ts/config/index.ts";
import { PrlError } from "../../../ts/errors.ts";
import { folderWith, RL_TOML } from "./support.ts";
import { IS_LONG } from "../../support/form.ts";

const NUM_RUNS = IS_LONG ? 20_000 : 300;
const LONGEST_MESSAGE = 3_000;

const PIECES = [
  "[model]",
  "[[orchestrator.train.source]]",
  "[trainer.loss]",
  "[a.b.c]",
  'name = "x"',
  "max_steps = 3",
  "seq_len = -1",
  "batch_size = 1e999",
  "group_size = nan",
  "x = 9223372036854775808",
  "d = 1979-05-27T07:32:00Z",
  "t = { a = { b = [1, [2, [3]]] } }",
  "extends = 'rl.toml'",
  'extends = ["other.toml", "../rl.toml"]',
  '"" = 1',
  "__proto__ = 1",
  "constructor.prototype.x = 1",
  "a.b = 1",
  "a = 1",
  "= 1",
  "s = '''",
  's = """\\u0000',
  's = "\\ud800"',
  "# comment",
  "\u0000",
  "\u0007",
  "\r",
  "]",
  "[",
  "{",
];

const line = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PIECES) },
  { weight: 2, arbitrary: fc.constantFrom(...RL_TOML.split("\n")) },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom("a.", "[", "x = [", "{ a = "), fc.nat(5_000))
      .map(([text, n]) => text.repeat(n)),
  },
);
const file = fc
  .tuple(fc.boolean(), fc.array(line, { maxLength: 8 }))
  .map(([valid, lines]) => (valid ? RL_TOML : "") + lines.join("\n"));

test("any config file is read or refused by name", async () => {
  const folder = folderWith({ "rl.toml": RL_TOML });
  const property = fc.asyncProperty(file, async (text) => {
    writeFileSync(join(folder, "fuzz.toml"), text);
    try {
      await loadConfig(["fuzz.toml"], [], { kind: "rl", env: {}, cwd: folder });
    } catch (error) {
      if (!(error instanceof PrlError)) throw error;
      expect(error.message.length).toBeLessThan(LONGEST_MESSAGE);
    }
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });
  await fc.assert(property, { numRuns: NUM_RUNS, seed: 23 });
});
