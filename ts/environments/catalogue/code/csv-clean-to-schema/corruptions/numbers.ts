/** What happens to numbers, from the digits outwards: the inverses are taken from the end of the list. */
import { at } from "../../../lists.ts";
import { py } from "../../json.ts";
import type { CellCorruption } from "./cell.ts";

const GROUPS = /\B(?=(?:[0-9]{3})+(?![0-9]))/gu;
const WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");
const WIDE = "０１２３４５６７８９";

/** Marks between groups of three digits before the point. */
function grouped(cell: string, mark: string): string | null {
  const [units = "", ...cents] = cell.split(".");
  return /[0-9]{4}/u.test(units) ? [units.replaceAll(GROUPS, mark), ...cents].join(".") : null;
}

export const NUMBERS: readonly CellCorruption[] = [
  {
    id: "number-words",
    types: ["count"],
    note: () => `Counts up to twelve may be written as words (${WORDS.slice(0, 3).join(", ")}, ... twelve).`,
    dirty: (cell) => WORDS[Number(cell)] ?? null,
    clean: (cell) => (WORDS.includes(cell) ? String(WORDS.indexOf(cell)) : cell),
    python: () => [`words = ${py(WORDS.join(" "))}.split()`, "if cell in words:", "    cell = str(words.index(cell))"],
  },
  {
    id: "dozens",
    types: ["count"],
    note: () => "Counts may be given in dozens of twelve, as in '4 doz'.",
    dirty: (cell) =>
      /^[0-9]+$/u.test(cell) && Number(cell) % 12 === 0 && cell !== "0" ? `${Number(cell) / 12} doz` : null,
    clean: (cell) => (/^[0-9]+ doz$/u.test(cell) ? String(12 * Number(cell.slice(0, -4))) : cell),
    python: () => ['if re.fullmatch("[0-9]+ doz", cell):', "    cell = str(12 * int(cell[:-4]))"],
  },
  {
    id: "thousands-short",
    types: ["count"],
    note: () => "Counts may be given in thousands with a k at the end, as in '12.3k' for 12300 or '7k' for 7000.",
    dirty: (cell) =>
      /^[0-9]{2,}00$/u.test(cell) ? `${cell.slice(0, -3)}.${cell.slice(-3, -2)}k`.replace(".0k", "k") : null,
    clean: (cell) => {
      const parts = /^([0-9]+)(?:\.([0-9]))?k$/u.exec(cell);
      return parts === null ? cell : `${parts[1] ?? ""}${parts[2] ?? "0"}00`;
    },
    python: () => [
      'parts = re.fullmatch(r"([0-9]+)(?:\\.([0-9]))?k", cell)',
      "if parts:",
      '    cell = parts.group(1) + (parts.group(2) or "0") + "00"',
    ],
  },
  {
    id: "short-decimals",
    types: ["money"],
    note: () => "Amounts may lack zeros at the end: '7.5' is 7.50 and '12' is 12.00.",
    dirty: (cell) => (cell.endsWith("0") ? cell.replace(/\.?0+$/u, "") : null),
    clean: (cell) => {
      const [units = "", cents = ""] = cell.split(".");
      return `${units}.${cents.padEnd(2, "0")}`;
    },
    python: () => ['units, _, cents = cell.partition(".")', 'cell = units + "." + cents.ljust(2, "0")'],
  },
  {
    id: "thousands-comma",
    types: ["count", "money"],
    group: "comma",
    note: () => "Numbers may have commas between groups of three digits.",
    dirty: (cell) => grouped(cell, ","),
    clean: (cell) => cell.replaceAll(",", ""),
    python: () => ['cell = cell.replace(",", "")'],
  },
  {
    id: "thousands-mark",
    types: ["count", "money"],
    draw: (rng) => rng.pick(["'", "_", " "]),
    note: (mark) => `Numbers may have the mark ${py(mark)} between groups of three digits.`,
    dirty: (cell, mark) => grouped(cell, mark),
    clean: (cell, mark) => cell.replaceAll(new RegExp(`(?<=[0-9])${mark}(?=[0-9]{3})`, "gu"), ""),
    python: (mark) => [`cell = re.sub(${py(`(?<=[0-9])${mark}(?=[0-9]{3})`)}, "", cell)`],
  },
  {
    id: "decimal-comma",
    types: ["money"],
    group: "comma",
    note: () => "Amounts may have a comma in the place of the decimal point.",
    dirty: (cell) => (cell.includes(".") ? cell.replace(".", ",") : null),
    clean: (cell) => cell.replace(",", "."),
    python: () => ['cell = cell.replace(",", ".")'],
  },
  {
    id: "misread-digits",
    types: ["count"],
    note: () =>
      "Counts that were scanned have the letter O for the digit 0 and the letter l for 1, wherever these digits stand.",
    dirty: (cell) => (/^[0-9]*[01][0-9]*$/u.test(cell) ? cell.replaceAll("0", "O").replaceAll("1", "l") : null),
    clean: (cell) => (/^[0-9Ol]+$/u.test(cell) ? cell.replaceAll("O", "0").replaceAll("l", "1") : cell),
    python: () => ['if re.fullmatch("[0-9Ol]+", cell):', '    cell = cell.replace("O", "0").replace("l", "1")'],
  },
  {
    id: "wide-digits",
    types: ["count", "key"],
    note: () => "Digits may be full-width ones (U+FF10 to U+FF19).",
    dirty: (cell) => cell.replaceAll(/[0-9]/gu, (digit) => WIDE[Number(digit)] ?? ""),
    clean: (cell) => cell.replaceAll(/[０-９]/gu, (digit) => String(WIDE.indexOf(digit))),
    python: () => [`cell = cell.translate(str.maketrans(${py(WIDE)}, "0123456789"))`],
  },
  {
    id: "unit",
    types: ["count"],
    note: () => "Counts may be followed by a space and the unit that the column list names.",
    dirty: (cell, _, { column }) => `${cell} ${column.unit}`,
    clean: (cell, _, { column }) => (cell.endsWith(` ${column.unit}`) ? cell.slice(0, -column.unit.length - 1) : cell),
    python: (_, { unit }) => [`cell = cell.removesuffix(${py(` ${unit}`)})`],
  },
  {
    id: "real-minus",
    types: ["money"],
    group: "minus",
    note: () => "The minus sign may be U+2212.",
    dirty: (cell) => (cell.startsWith("-") ? cell.replace("-", "\u2212") : null),
    clean: (cell) => cell.replace("\u2212", "-"),
    python: () => ['cell = cell.replace("\\u2212", "-")'],
  },
  {
    id: "bracketed-negative",
    types: ["money"],
    group: "minus",
    note: () => "Negative amounts may stand in brackets without a sign, as in '(12.50)'.",
    dirty: (cell) => (cell.startsWith("-") ? `(${cell.slice(1)})` : null),
    clean: (cell) => (/^\(.*\)$/u.test(cell) ? `-${cell.slice(1, -1)}` : cell),
    python: () => ['if cell.startswith("(") and cell.endswith(")"):', '    cell = "-" + cell[1:-1]'],
  },
  {
    id: "minus-behind",
    types: ["money"],
    group: "minus",
    note: () => "Negative amounts may have their minus sign at the end.",
    dirty: (cell) => (cell.startsWith("-") ? `${cell.slice(1)}-` : null),
    clean: (cell) => (cell.endsWith("-") ? `-${cell.slice(0, -1)}` : cell),
    python: () => ['if cell.endswith("-"):', '    cell = "-" + cell[:-1]'],
  },
  {
    id: "debit-credit",
    types: ["money"],
    group: "minus",
    note: () =>
      "Amounts may be written without a sign and with CR behind, which means negative, or DR, which means positive, after a space.",
    dirty: (cell) => (cell.startsWith("-") ? `${cell.slice(1)} CR` : `${cell} DR`),
    clean: (cell) => (cell.endsWith(" CR") ? `-${cell.slice(0, -3)}` : cell.endsWith(" DR") ? cell.slice(0, -3) : cell),
    python: () => [
      'if cell.endswith(" CR"):',
      '    cell = "-" + cell[:-3]',
      'elif cell.endswith(" DR"):',
      "    cell = cell[:-3]",
    ],
  },
  {
    id: "plus-sign",
    types: ["money", "count"],
    note: () => "Numbers may begin with a plus sign.",
    dirty: (cell) => (/^[0-9][0-9.,]*$/u.test(cell) ? `+${cell}` : null),
    clean: (cell) => (cell.startsWith("+") ? cell.slice(1) : cell),
    python: () => ['cell = cell.removeprefix("+")'],
  },
  {
    id: "currency",
    types: ["money"],
    draw: (rng) => rng.pick(["before €", "before $", "behind EUR", "before CHF "]),
    note: (setting) =>
      `Amounts may have ${py(setting.slice(7))} ${setting.startsWith("before") ? "before all else" : "at the end, after a space"}.`,
    dirty: (cell, setting) =>
      setting.startsWith("before") ? `${setting.slice(7)}${cell}` : `${cell} ${setting.slice(7)}`,
    clean: (cell, setting) => {
      const sign = at([setting.slice(7), ` ${setting.slice(7)}`], Number(setting.startsWith("behind")));
      if (setting.startsWith("before")) return cell.startsWith(sign) ? cell.slice(sign.length) : cell;
      return cell.endsWith(sign) ? cell.slice(0, -sign.length) : cell;
    },
    python: (setting) => [
      setting.startsWith("before")
        ? `cell = cell.removeprefix(${py(setting.slice(7))})`
        : `cell = cell.removesuffix(${py(` ${setting.slice(7)}`)})`,
    ],
  },
  {
    id: "key-prefix",
    types: ["key"],
    draw: (rng) => rng.pick(["ID-", "#", "No. "]),
    note: (prefix) => `Keys may begin with ${py(prefix)} and have zeros at their left, up to six digits.`,
    dirty: (cell, prefix) => `${prefix}${cell.length < 6 && /^[0-9]+$/u.test(cell) ? cell.padStart(6, "0") : cell}`,
    clean: (cell, prefix) => (cell.startsWith(prefix) ? cell.slice(prefix.length) : cell),
    python: (prefix) => [`cell = cell.removeprefix(${py(prefix)})`],
  },
  {
    id: "text-mark",
    types: ["key", "count", "money", "date"],
    group: "spreadsheet",
    note: () => "Cells with numbers and dates may begin with an apostrophe, which marks them as text.",
    dirty: (cell) => `'${cell}`,
    clean: (cell) => (cell.startsWith("'") ? cell.slice(1) : cell),
    python: () => [`cell = cell.removeprefix("'")`],
  },
  {
    id: "formula",
    types: ["key", "count", "date"],
    group: "spreadsheet",
    note: () => 'Keys, counts and dates may be wrapped as formulas, as in ="123".',
    dirty: (cell) => `="${cell}"`,
    clean: (cell) => (/^=".*"$/u.test(cell) ? cell.slice(2, -1) : cell),
    python: () => [`if cell.startswith('="') and cell.endswith('"'):`, "    cell = cell[2:-1]"],
  },
];
