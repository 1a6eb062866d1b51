/** sheet-repair: formulas of a spreadsheet that depart from what their rows and columns mean are found and set right. */
import { z } from "zod";

import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { aboveBase, call } from "../records.ts";

interface Instance {
  articles: string[];
  /** Formulas or numbers by cell, in rows; the first row is row 1. */
  right: string[][];
  shown: string[][];
  /** Places of wrong cells. */
  wrong: [row: number, column: number][];
}

interface World {
  readonly instance: Instance;
  readonly cells: string[][];
}

/** By level: rows of articles, wrong cells. */
const SIZES = [
  [4, 2],
  [7, 3],
  [12, 4],
  [20, 6],
  [30, 9],
] as const;
const PAGE = 10;
/** Columns: amount, price, discount in percent, value, value after discount, running total. */
const COLUMNS = "ABCDEF";
/** A formula reads cells that read others; deeper than this is a circle. */
const DEEPEST = 60;
/** Cells that a value may need, each as often as it is read: a right sheet needs some hundreds, and formulas could need more than any time allows. */
const MOST_READS = 20_000;
const LONGEST_FORMULA = 60;
const RULE =
  "A amount, B price, C discount in percent, D = amount times price, E = D less the discount, F = running total of E down to the row. The last row has, in A, D and E, the sums of the column and, in F, the mean of E over the articles; its B and C are 0.";

const readShape = z.object({ from_row: z.int().min(1).max(100) });
const writeShape = z.object({ cell: z.string().max(6), content: z.string().max(LONGEST_FORMULA) });

const tools = {
  read_rows: worldTool<World, typeof readShape>({
    description: `Contents of ${PAGE} rows with the columns A to F`,
    parameters: readShape,
    run: ({ cells }, { from_row: from }) => ({
      rows: cells.slice(from - 1, from - 1 + PAGE).map((row, index) => ({ row: from + index, cells: row })),
      next: from - 1 + PAGE < cells.length ? from + PAGE : null,
    }),
  }),
  show_values: worldTool<World, typeof readShape>({
    description: `Values of ${PAGE} rows`,
    parameters: readShape,
    run: ({ cells }, { from_row: from }) =>
      cells
        .slice(from - 1, from - 1 + PAGE)
        .map((row, index) => row.map((_, column) => valueOf(cells, from - 1 + index, column))),
  }),
  set_cell: worldTool<World, typeof writeShape>({
    description:
      "Writes a number or a formula (=, numbers, cells, + - * /, brackets, SUM(A1:A3), AVERAGE(A1:A3)) into a cell",
    parameters: writeShape,
    run: ({ cells }, { cell, content }) => {
      const place = placeOf(cell, cells.length);
      if (place === null) throw new Refusal(`there is no cell ${cell}`);
      if (!/^(?:-?\d+(?:\.\d+)?|=[A-Z\d+\-*/(). :]+)$/u.test(content))
        throw new Refusal("that is no number and no formula");
      at(cells, place[0])[place[1]] = content;
      return { value: valueOf(cells, ...place) };
    },
  }),
};

export const sheetRepair = defineWorldRow<Instance, World>({
  id: "sheet-repair",
  asks: "find the formulas of a spreadsheet that do not do what their column means, and put them right without changing others",
  make,
  effort: ({ right, wrong }) => right.length * COLUMNS.length + 4 * wrong.length,
  canonical: ({ right, wrong, shown }) => [
    right.length,
    wrong,
    wrong.map(([row, column]) => shown[row]?.[column]),
    right.map((row) => row.slice(0, 3)),
  ],
  prompts: [
    (one) =>
      `Repair a spreadsheet with ${one.right.length} rows. ${RULE} ${one.wrong.length} of its formulas are wrong: they read a wrong cell or range, have a number in place of a formula, or calculate something else. Amounts, prices and discounts are right. Every formula has to follow changes of the inputs. Changing a right formula into a wrong one costs.`,
    (one) =>
      `Some formulas (${one.wrong.length}) of a sheet were damaged. The meaning of the columns: ${RULE} There are ${one.right.length} rows. Find the damaged cells, some of which show the right value today only by chance, and write formulas that are right for any inputs. Leave the inputs A to C of the articles alone.`,
    (one) =>
      `${RULE} The sheet has ${one.right.length} rows, and ${one.wrong.length} cells among its formulas do not agree with this description. Correct them. It is tested with other inputs than those that you see, so numbers in place of formulas do not pass.`,
    (one) =>
      `Audit the formulas of this sheet (${one.right.length} rows, columns A to F). ${RULE} Exactly ${one.wrong.length} are faulty; repair these. Equivalent ways of writing a formula are fine, hard-coded results are not.`,
  ],
  tools,
  world: (instance) => ({ instance, cells: instance.shown.map((row) => [...row]) }),
  gold: (instance) => script(instance, repairs(instance)),
  slips: (instance) => {
    const all = repairs(instance);
    const [row, column] = at(instance.wrong, 0);
    const typed = valueOf(instance.right, row, column);
    return {
      "repairs all but the last": script(instance, all.slice(0, -1)),
      "types the right value in": script(instance, [
        ...all.slice(1),
        call("set_cell", { cell: cellName(row, column), content: String(typed) }),
      ]),
      "spoils another formula": script(instance, [...all, call("set_cell", { cell: "F1", content: "=E1*2" })]),
      "changes nothing": script(instance, []),
    };
  },
  blankets: (instance) => ({
    "numbers for all wrong cells": script(
      instance,
      instance.wrong.map(([row, column]) => call("set_cell", { cell: cellName(row, column), content: "0" })),
    ),
    "the same formula everywhere": script(
      instance,
      instance.right.flatMap((_, row) =>
        range(3).map((column) => call("set_cell", { cell: cellName(row, column + 3), content: "=A1*B1" })),
      ),
    ),
  }),
  grade: (instance, { cells }) => {
    const { right, shown, wrong } = instance;
    const places = right.flatMap((row, index) => row.map((_, column): [number, number] => [index, column]));
    const isSame = (other: readonly string[][], tested: readonly string[][]): boolean[] => {
      // Inputs differ from those shown, and each formula is judged with right formulas around it.
      return places.map(([row, column]) => {
        if (other[row]?.[column] === tested[row]?.[column]) return true;
        const mixed = tested.map((line) => [...line]);
        at(mixed, row)[column] = other[row]?.[column] ?? "";
        const expected = valueOf(tested, row, column);
        const found = valueOf(mixed, row, column);
        return (
          found !== null && expected !== null && Math.abs(found - expected) < 1e-6 * Math.max(1, Math.abs(expected))
        );
      });
    };
    const tested = otherInputs(right);
    const after = isSame(withInputs(cells, tested), tested);
    const before = isSame(withInputs(shown, tested), tested);
    const changedInputs = right
      .slice(0, -1)
      .flatMap((row, index) => row.slice(0, 3).filter((value, column) => cells[index]?.[column] !== value)).length;
    const share = (after.filter(Boolean).length - before.filter(Boolean).length - changedInputs) / wrong.length;
    return aboveBase(Math.max(0, share), 0) ** 2;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, wrongCount] = at(SIZES, level - 1);
  const last = count;
  const right = range(count).map((row) => [
    String(between(rng, 2, 30)),
    String(between(rng, 3, 90)),
    String(rng.pick([5, 10, 20, 25])),
    `=A${row + 1}*B${row + 1}`,
    `=D${row + 1}*(100-C${row + 1})/100`,
    row === 0 ? "=E1" : `=F${row}+E${row + 1}`,
  ]);
  right.push([`=SUM(A1:A${last})`, "0", "0", `=SUM(D1:D${last})`, `=SUM(E1:E${last})`, `=AVERAGE(E1:E${last})`]);
  const formulas = right.flatMap((row, index) =>
    row.flatMap((text, column): [number, number][] => (text.startsWith("=") ? [[index, column]] : [])),
  );
  const wrong = sample(formulas, wrongCount, rng).toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  const shown = right.map((row) => [...row]);
  for (const [row, column] of wrong) {
    const text = at(at(right, row), column);
    const other = rng.pick(damages(right, row, column, text));
    if (other === text || other === undefined) return null;
    at(shown, row)[column] = other;
  }
  const instance = { articles: distinct(count, () => word(rng)), right, shown, wrong };
  const tested = otherInputs(right);
  const isFelt = wrong.every(([row, column]) => {
    const mixed = tested.map((line) => [...line]);
    at(mixed, row)[column] = at(at(shown, row), column);
    const [a, b] = [valueOf(mixed, row, column), valueOf(tested, row, column)];
    return a !== null && b !== null && Math.abs(a - b) > 1e-6;
  });
  return isFelt ? instance : null;
}

/** Formulas like those that slips of copying give. */
function damages(right: readonly string[][], row: number, column: number, text: string): string[] {
  const value = String(valueOf(right, row, column) ?? 0);
  if (text.startsWith("=SUM") || text.startsWith("=AVERAGE")) {
    const letter = COLUMNS.charAt(column === 5 ? 4 : column);
    const name = text.startsWith("=SUM") ? "SUM" : "AVERAGE";
    return [
      `=${name}(${letter}1:${letter}${row - 1})`,
      `=${name}(${letter}2:${letter}${row})`,
      value,
      `=${name === "SUM" ? "AVERAGE" : "SUM"}(${letter}1:${letter}${row})`,
    ];
  }
  const other = row === 0 ? 2 : row;
  if (column === 3) return [`=A${row + 1}*B${other}`, `=A${row + 1}+B${row + 1}`, value];
  if (column === 4)
    return [`=D${row + 1}*C${row + 1}/100`, `=D${row + 1}-C${row + 1}`, `=D${other}*(100-C${row + 1})/100`, value];
  return row === 0 ? ["=D1", value] : [`=F${row}+D${row + 1}`, `=F${row}+E${row}`, value];
}

/** The right sheet with other amounts, prices and discounts. */
function otherInputs(right: readonly string[][]): string[][] {
  return right.map((row, index) =>
    index === right.length - 1
      ? [...row]
      : row.map((text, column) =>
          column < 3 ? String(3 + ((index * 7 + column * 11 + Number(text) * 3) % 41)) : text,
        ),
  );
}

/** The formulas of one sheet with the inputs of another. */
function withInputs(cells: readonly string[][], inputs: readonly string[][]): string[][] {
  return cells.map((row, index) =>
    row.map((text, column) => (column < 3 && index < cells.length - 1 ? (inputs[index]?.[column] ?? "") : text)),
  );
}

/** Null for an error: an unknown cell, a circle, a formula that cannot be read or that reads too much, a division by 0. */
function valueOf(
  cells: readonly string[][],
  row: number,
  column: number,
  work = { depth: 0, reads: 0 },
): number | null {
  const text = cells[row]?.[column];
  work.reads += 1;
  if (text === undefined || work.depth > DEEPEST || work.reads > MOST_READS) return null;
  if (!text.startsWith("=")) return Number.isFinite(Number(text)) && text.trim() !== "" ? Number(text) : null;
  const tokens =
    text
      .slice(1)
      .replaceAll(" ", "")
      .match(/[A-Z]+\d+|[A-Z]+|\d+(?:\.\d+)?|[^A-Z\d]/gu) ?? [];
  let place = 0;
  const cell = (name: string): number => {
    const found = placeOf(name, cells.length);
    return (found === null ? null : valueOf(cells, found[0], found[1], work)) ?? Number.NaN;
  };
  const atom = (): number => {
    const token = tokens[place++] ?? "";
    if (token === "-") return -atom();
    if (token === "(") {
      const inner = sum();
      return tokens[place++] === ")" ? inner : Number.NaN;
    }
    if (/^\d/u.test(token)) return Number(token);
    if (token === "SUM" || token === "AVERAGE") {
      const [open, from = "", colon, to = "", close] = tokens.slice(place, place + 5);
      place += 5;
      return `${open}${colon}${close}` === "(:)" ? overRange(token, from, to) : Number.NaN;
    }
    return cell(token);
  };
  const product = (): number => {
    let value = atom();
    while (tokens[place] === "*" || tokens[place] === "/")
      value = tokens[place++] === "*" ? value * atom() : value / atom();
    return value;
  };
  const sum = (): number => {
    let value = product();
    while (tokens[place] === "+" || tokens[place] === "-")
      value = tokens[place++] === "+" ? value + product() : value - product();
    return value;
  };
  work.depth += 1;
  const value = sum();
  work.depth -= 1;
  return place === tokens.length && Number.isFinite(value) ? value : null;

  function overRange(name: string, from: string, to: string): number {
    const [a, b] = [placeOf(from, cells.length), placeOf(to, cells.length)];
    if (a === null || b === null || a[0] > b[0] || a[1] > b[1]) return Number.NaN;
    const values = range(b[0] - a[0] + 1).flatMap((down) =>
      range(b[1] - a[1] + 1).map((along) => valueOf(cells, a[0] + down, a[1] + along, work) ?? Number.NaN),
    );
    const total = values.reduce((x, y) => x + y, 0);
    return name === "SUM" ? total : total / values.length;
  }
}

function placeOf(name: string, rows: number): [number, number] | null {
  const [, letter = "", digits = ""] = /^([A-F])(\d{1,3})$/u.exec(name.trim()) ?? [];
  const row = Number(digits) - 1;
  return letter === "" || row < 0 || row >= rows ? null : [row, COLUMNS.indexOf(letter)];
}

function cellName(row: number, column: number): string {
  return `${COLUMNS.charAt(column)}${row + 1}`;
}

function repairs({ right, wrong }: Instance): Call[] {
  return wrong.map(([row, column]) =>
    call("set_cell", { cell: cellName(row, column), content: at(at(right, row), column) }),
  );
}

function script({ right }: Instance, all: readonly Call[]): Script {
  return [
    ...range(Math.ceil(right.length / PAGE)).map((page) => call("read_rows", { from_row: page * PAGE + 1 })),
    ...all,
  ];
}
