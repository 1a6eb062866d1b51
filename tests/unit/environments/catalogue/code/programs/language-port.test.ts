/** CPython, Node and gcc run programs, ports and careless ports: they print what this process computes. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

import { portOf, sourceOf } from "../../../../../../ts/environments/catalogue/code/language-port/print.ts";
import {
  drawInput,
  type Direction,
  HAZARDS,
  hazardsOf,
  SIMULTANEOUS,
  type Unit,
  valueOf,
} from "../../../../../../ts/environments/catalogue/code/language-port/program.ts";
import { at } from "../../../../../../ts/environments/catalogue/lists.ts";
import type { ProgramLanguage } from "../../../../../../ts/verify/index.ts";
import { createRng } from "../../../../../../ts/random/rng.ts";
import { HAS_COMPILER, HAS_PYTHON } from "../interpreters.ts";

const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
const INPUTS = process.env["PRL_TEST_LONG"] === "1" ? 400 : 40;
/** Functions of one program: its input lines have one digit for the number. */
const MOST_UNITS = 10;
const folder = mkdtempSync(join(tmpdir(), "prl-port-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const DIRECTIONS = (["python", "javascript", "c"] as const).flatMap((from) =>
  (["python", "javascript", "c"] as const).filter((to) => to !== from).map((to): Direction => ({ from, to })),
);

function printedBy(language: ProgramLanguage, source: string, input: string): string[] {
  const file = join(folder, { python: "main.py", javascript: "main.cjs", c: "main.c" }[language]);
  writeFileSync(file, source);
  if (language === "c") execFileSync("gcc", ["-w", "-o", join(folder, "main"), file, "-lm"]);
  const [program, args] = {
    python: [PYTHON, [file]] as const,
    javascript: [process.execPath, [file]] as const,
    c: [join(folder, "main"), []] as const,
  }[language];
  return execFileSync(program, args, { input, encoding: "utf8", maxBuffer: 2 ** 26 })
    .trimEnd()
    .split("\n");
}

/** One unit for each hazard of the direction, alone, so that every template runs. */
function unitsOf({ from, to }: Direction): Unit[] {
  const rng = createRng(6);
  const units = HAZARDS.filter((one) => one.from === from && one.ports[to] !== undefined).map((one): Unit => {
    const step = { hazard: one.id, constants: one.draw(rng).map(String), mul: 3, add: -7 };
    if (one.takes === "text") return { is: "text", steps: [step] };
    return { is: "numbers", start: 4, terms: [{ isAdded: true, steps: [step] }] };
  });
  return from === "python" ? [...units, { is: "pair", start: [2, 3], mul: 3 }] : units;
}

/** Input lines with what is right, and with what a port prints that is careless about all hazards. */
function linesOf(units: readonly Unit[], direction: Direction): { input: string; right: string; careless: string }[] {
  const rng = createRng(7);
  return units.flatMap((unit, index) =>
    Array.from({ length: INPUTS }, () => drawInput(unit, direction.from, rng)).flatMap((input) => {
      const right = valueOf(unit, input, direction);
      const careless = valueOf(unit, input, direction, at(hazardsOf(unit), 0));
      const shown = (text: string): string => `[${text.replaceAll(" ", "_")}]`;
      // A program prints half of a pair of surrogates as U+FFFD.
      return right === null || careless === null || /[\ud800-\udfff]/u.test(careless)
        ? []
        : [{ input: `${index} ${input}`, right: shown(right), careless: shown(careless) }];
    }),
  );
}

describe.skipIf(!HAS_PYTHON || !HAS_COMPILER)("language-port", () => {
  test.each(DIRECTIONS.map((one) => [`${one.from} to ${one.to}`, one] as const))(
    "%s prints what is computed here",
    (_, direction) => {
      const all = unitsOf(direction);
      for (let first = 0; first < all.length; first += MOST_UNITS) {
        const units = all.slice(first, first + MOST_UNITS);
        const lines = linesOf(units, direction);
        const input = lines.map((line) => `${line.input}\n`).join("");
        const right = lines.map((line) => line.right);
        expect(printedBy(direction.from, sourceOf(units, direction.from), input)).toEqual(right);
        expect(printedBy(direction.to, portOf(units, direction), input)).toEqual(right);
        const hazards = units.flatMap(hazardsOf);
        const careless = printedBy(direction.to, portOf(units, direction, hazards), input);
        expect(careless).toEqual(lines.map((line) => line.careless));
      }
    },
  );

  test("a number of 32 bits inside of another expression of C does not overflow", () => {
    const direction: Direction = { from: "javascript", to: "c" };
    const step = { constants: ["3"], mul: 1, add: 0 };
    const steps = [
      { ...step, hazard: "to-int32" },
      { ...step, hazard: "floor-of-quotient" },
    ];
    const units: Unit[] = [{ is: "numbers", start: 1, terms: [{ isAdded: true, steps }] }];
    const lines = linesOf(units, direction);
    const input = lines.map((line) => `${line.input}\n`).join("");
    expect(printedBy("c", portOf(units, direction), input)).toEqual(lines.map(({ right }) => right));
  });

  test("every hazard shows on some input", () => {
    const silent = DIRECTIONS.flatMap((direction) =>
      unitsOf(direction).filter((unit) =>
        linesOf([unit], direction).every(({ right, careless }) => right === careless),
      ),
    );
    expect(silent.flatMap(hazardsOf)).toEqual([]);
    expect(HAZARDS.length).toBeGreaterThan(50);
    expect(SIMULTANEOUS).toBe("simultaneous-assignment");
  });
});
