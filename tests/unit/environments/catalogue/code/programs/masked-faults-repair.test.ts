/** CPython, Node and gcc run repaired and faulty programs, and another interpreter checks which faults hide others. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

import {
  batteryOf,
  type Fault,
  type Faulty,
  programOf,
} from "../../../../../../ts/environments/catalogue/code/masked-faults-repair/faults.ts";
import { maskedFaultsRepair } from "../../../../../../ts/environments/catalogue/code/masked-faults-repair/index.ts";
import { programText } from "../../../../../../ts/environments/catalogue/code/masked-faults-repair/print.ts";
import { runProgram } from "../../../../../../ts/environments/catalogue/code/small-python/run.ts";
import { at } from "../../../../../../ts/environments/catalogue/lists.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import type { ProgramLanguage } from "../../../../../../ts/verify/index.ts";
import { drawnOf, HAS_COMPILER, HAS_PYTHON } from "../interpreters.ts";

interface Instance {
  readonly faulty: Faulty;
  readonly language: ProgramLanguage;
  readonly seed: number;
}

const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
/** Instances of each language whose programs run. */
const RUN = process.env["PRL_TEST_LONG"] === "1" ? 60 : 4;
const folder = mkdtempSync(join(tmpdir(), "prl-repair-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const instances = drawnOf<Instance>(at(maskedFaultsRepair.rows, 0));

function printedBy(language: ProgramLanguage, source: string, inputs: readonly (readonly number[])[]): number[] {
  const file = join(folder, { python: "main.py", javascript: "main.cjs", c: "main.c" }[language]);
  writeFileSync(file, source);
  if (language === "c") execFileSync("gcc", ["-w", "-o", join(folder, "main"), file]);
  const [program, args] = {
    python: [PYTHON, [file]] as const,
    javascript: [process.execPath, [file]] as const,
    c: [join(folder, "main"), []] as const,
  }[language];
  const input = inputs.map((xs) => `${xs.join(" ")}\n`).join("");
  return execFileSync(program, args, { input, encoding: "utf8" }).trimEnd().split("\n").map(Number);
}

describe("masked-faults-repair", () => {
  test("another interpreter agrees that a fault of a later round changes nothing before", () => {
    for (const { faulty, seed } of instances) {
      const battery = batteryOf(faulty, createRng(seed));
      if (battery === null) throw new Error("no battery");
      const outputs = (faults: readonly Fault[]): (string | undefined)[] =>
        battery.inputs.map((xs) => runProgram(programOf(faulty, faults), { values: { xs: [...xs] } })?.printed[0]);
      expect(outputs([])).toEqual(battery.right.map(String));
      expect(outputs(faulty.faults)).toEqual(battery.given.map(String));
      const [first = [], ...later] = battery.rounds;
      expect(later.length).toBeGreaterThan(0);
      for (const index of later.flat())
        expect(outputs(faulty.faults.filter((_, other) => other !== index))).toEqual(battery.given.map(String));
      for (const index of first)
        expect(outputs(faulty.faults.filter((_, other) => other !== index))).not.toEqual(battery.given.map(String));
    }
  });

  test.skipIf(!HAS_PYTHON || !HAS_COMPILER).each(["python", "javascript", "c"] as const)(
    "programs in %s print what is computed here",
    (language) => {
      const some = instances.filter((one) => one.language === language).slice(-RUN);
      expect(some.length).toBe(RUN);
      for (const { faulty, seed } of some) {
        const battery = batteryOf(faulty, createRng(seed));
        const printed = (faults: readonly Fault[]): number[] =>
          printedBy(language, programText(programOf(faulty, faults), language), battery?.inputs ?? []);
        expect(printed([])).toEqual(battery?.right);
        expect(printed(faulty.faults)).toEqual(battery?.given);
      }
    },
  );
});
