/** What happens to texts, codes and flags, and to any cell. */
import { between } from "../../../../../random/draws.ts";
import { py } from "../../json.ts";
import type { CellCorruption } from "./cell.ts";

/** Changes the cell; null where nothing changes. */
function changed(cell: string, other: string): string | null {
  return cell === other ? null : other;
}

const ENTITIES = [
  ["&", "&amp;"],
  ["'", "&#39;"],
  ['"', "&quot;"],
] as const;
/** Pairs of letters that UTF-8 gives when it is read as Latin-1. */
const BROKEN = /[\u00c2-\u00c5][\u0080-\u00bf]/u;

export const TEXTS: readonly CellCorruption[] = [
  {
    id: "decomposed",
    types: ["text"],
    group: "letters",
    note: () =>
      "Letters with accents may be written as a letter and a combining mark; the clean text is in the normal form NFC.",
    dirty: (cell) => changed(cell, cell.normalize("NFD")),
    clean: (cell) => cell.normalize("NFC"),
    python: () => ['cell = unicodedata.normalize("NFC", cell)'],
  },
  {
    id: "misread-bytes",
    types: ["text"],
    group: "letters",
    note: () =>
      "Texts may have been written as UTF-8 and read as Latin-1, so that 'é' became 'Ã©'. Right texts have no letters from U+00C2 to U+00C5.",
    dirty: (cell) => changed(cell, Buffer.from(cell, "utf8").toString("latin1")),
    clean: (cell) => (BROKEN.test(cell) ? Buffer.from(cell, "latin1").toString("utf8") : cell),
    python: () => ['if re.search("[\\u00c2-\\u00c5]", cell):', '    cell = cell.encode("latin-1").decode("utf-8")'],
  },
  {
    id: "entities",
    types: ["text"],
    note: () =>
      "Texts may have the entities &amp;amp;, &amp;#39; and &amp;quot; for &amp;, ' and \".".replaceAll("&amp;", "&"),
    dirty: (cell) =>
      changed(
        cell,
        ENTITIES.reduce((text, [sign, entity]) => text.replaceAll(sign, entity), cell),
      ),
    clean: (cell) => ENTITIES.toReversed().reduce((text, [sign, entity]) => text.replaceAll(entity, sign), cell),
    python: () => [`cell = cell.replace("&quot;", '"').replace("&#39;", "'").replace("&amp;", "&")`],
  },
  {
    id: "curly-apostrophe",
    types: ["text"],
    note: () => "An apostrophe may be the sign U+2019.",
    dirty: (cell) => changed(cell, cell.replaceAll("'", "\u2019")),
    clean: (cell) => cell.replaceAll("\u2019", "'"),
    python: () => [`cell = cell.replace("\\u2019", "'")`],
  },
  {
    id: "more-spaces",
    types: ["text"],
    note: () =>
      "Texts may have spaces around them and several spaces in a row; a clean text has single spaces between words.",
    dirty: (cell, _, { rng }) => `${" ".repeat(rng?.integer(3) ?? 0)}${cell.replaceAll(" ", "  ")}  `,
    clean: (cell) => cell.replaceAll(/ +/gu, " ").replaceAll(/^ | $/gu, ""),
    python: () => ['cell = re.sub(" +", " ", cell).strip(" ")'],
  },
  {
    id: "no-break-space",
    types: ["text"],
    note: () => "Spaces in texts may be no-break spaces (U+00A0).",
    dirty: (cell) => changed(cell, cell.replaceAll(" ", "\u00a0")),
    clean: (cell) => cell.replaceAll("\u00a0", " "),
    python: () => ['cell = cell.replace("\\u00a0", " ")'],
  },
  {
    id: "invisible",
    types: ["text", "code"],
    note: () => "Texts and codes may hold invisible signs (U+200B and U+00AD), which are dropped.",
    dirty: (cell, _, { rng }) => `${cell.slice(0, 1)}${rng?.integer(2) === 0 ? "\u200b" : "\u00ad"}${cell.slice(1)}`,
    clean: (cell) => cell.replaceAll(/[\u200b\u00ad]/gu, ""),
    python: () => ['cell = cell.replace("\\u200b", "").replace("\\u00ad", "")'],
  },
  {
    id: "line-break",
    types: ["text"],
    note: () => "A quoted text may hold a line break in the place of a space.",
    dirty: (cell) => changed(cell, cell.replace(" ", "\n")),
    clean: (cell) => cell.replaceAll("\n", " "),
    python: () => ['cell = cell.replace("\\n", " ")'],
  },
  {
    id: "code-number",
    types: ["code"],
    note: () => "Codes may be given by their place in the list of codes, counted from 1.",
    dirty: (cell, _, { column }) => (column.codes.includes(cell) ? String(column.codes.indexOf(cell) + 1) : null),
    clean: (cell, _, { column }) => (/^[0-9]$/u.test(cell) ? (column.codes[Number(cell) - 1] ?? cell) : cell),
    python: (_, { codes }) => [`if re.fullmatch("[1-${codes.length}]", cell):`, "    cell = codes[int(cell) - 1]"],
  },
  {
    id: "code-cut",
    types: ["code"],
    note: () =>
      "Codes may be cut after their first letters, with a full stop behind; the letters that are left belong to one code only.",
    dirty: (cell, _, { column, rng }) => {
      const kept = cell.slice(0, rng === null ? 2 : between(rng, 2, Math.max(2, cell.length - 1)));
      return column.codes.filter((code) => code.startsWith(kept)).length === 1 && /^[a-z]+$/u.test(cell)
        ? `${kept}.`
        : null;
    },
    clean: (cell, _, { column }) =>
      cell.endsWith(".") ? (column.codes.find((code) => code.startsWith(cell.slice(0, -1))) ?? cell) : cell,
    python: () => [
      'if cell.endswith("."):',
      "    cell = next((code for code in codes if code.startswith(cell[:-1])), cell)",
    ],
  },
  {
    id: "code-case",
    types: ["code"],
    note: () => "Codes may have capital letters; clean ones have none.",
    dirty: (cell, _, { rng }) =>
      changed(cell, rng?.integer(2) === 0 ? cell.toUpperCase() : `${cell.slice(0, 1).toUpperCase()}${cell.slice(1)}`),
    clean: (cell) => cell.toLowerCase(),
    python: () => ["cell = cell.lower()"],
  },
  {
    id: "yes-no",
    types: ["flag"],
    group: "flags",
    draw: (rng) => rng.pick(["yes no", "x o", "J N", "on off", "1 0"]),
    note: (setting) => {
      const [yes = "", no = ""] = setting.split(" ");
      return `Flags may be written as '${yes}' for true and '${no}' for false.`;
    },
    dirty: (cell, setting) => setting.split(" ")[cell === "true" ? 0 : 1] ?? null,
    clean: (cell, setting) => {
      const place = setting.split(" ").indexOf(cell);
      return place < 0 ? cell : place === 0 ? "true" : "false";
    },
    python: (setting) => {
      const [yes = "", no = ""] = setting.split(" ");
      return [`cell = {${py(yes)}: "true", ${py(no)}: "false"}.get(cell, cell)`];
    },
  },
  {
    id: "flag-case",
    types: ["flag"],
    note: () => "Flags may be written in any mixture of small and capital letters.",
    dirty: (cell, _, { rng }) =>
      /^(?:true|false)$/u.test(cell)
        ? rng?.integer(2) === 0
          ? cell.toUpperCase()
          : `${cell.slice(0, 1).toUpperCase()}${cell.slice(1)}`
        : null,
    clean: (cell) => (/^(?:true|false)$/iu.test(cell) ? cell.toLowerCase() : cell),
    python: () => ['if cell.lower() in ("true", "false"):', "    cell = cell.lower()"],
  },
];
