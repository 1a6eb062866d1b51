/** stream-editor-reading: the output of a sed script with addresses, ranges, the hold space and several lines in the pattern space. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Address = number | "$" | { contains: string };
interface Command {
  from: Address | null;
  to: Address | null;
  negated: boolean;
  /** A letter, with the texts of s and y. */
  name: string;
  texts: string[];
}
export interface EditorProblem {
  lines: string[];
  script: string[];
  /** Lines are printed only where the script says so. */
  quiet: boolean;
}

/** By level: lines, commands, letters that commands may have, least and most executed commands. */
const SIZES = [
  [4, 2, "spd", 4, 9],
  [5, 3, "spdyq", 9, 16],
  [6, 4, "spdyqhGgx", 17, 26],
  [8, 5, "spdyhHgGxnN", 27, 40],
  [10, 7, "spdyhHgGxnNPD", 41, 160],
] as const;
const MOST_STEPS = 400;
/** Characters of pattern or hold space: H and G in turn double them. */
const MOST_CHARACTERS = 300;

export const streamEditorReading = itemRow<EditorProblem>({
  id: "stream-editor-reading",
  asks: "the output of a sed script with addresses, ranges, hold space and joined lines",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `Input:\n\n${one.lines.join("\n")}\n\nsed script${option(one)}:\n\n${one.script.join("\n")}\n\nWhat does GNU sed print? Give all lines.`,
    (one) =>
      `GNU sed gets the script${option(one)}\n\n${one.script.join("\n")}\n\nand the lines\n\n${one.lines.join("\n")}\n\nWrite down its output line by line.`,
    (one) =>
      `Work as sed does: for each line run all commands, keep track of pattern space and hold space.\n\nCommands${option(one)}:\n${one.script.join("\n")}\n\nText:\n${one.lines.join("\n")}\n\nList the printed lines in order (GNU sed).`,
    (one) =>
      `The text\n\n${one.lines.join("\n")}\n\nruns through the stream editor with these commands${option(one)}:\n\n${one.script.join("\n")}\n\nState the result as GNU sed prints it.`,
  ],
});

function option({ quiet }: EditorProblem): string {
  return quiet ? " (with the option -n)" : "";
}

function addressText(address: Address): string {
  return typeof address === "object" ? `/${address.contains}/` : String(address);
}

function commandText({ from, to, negated, name, texts }: Command): string {
  const where = [from, to].flatMap((one) => (one === null ? [] : [addressText(one)])).join(",");
  const [first = "", second = "", flag = ""] = texts;
  const body = name === "s" || name === "y" ? `${name}/${first}/${second}/${flag}` : name;
  return `${where}${negated ? "!" : ""}${body}`;
}

interface Editor {
  readonly lines: readonly string[];
  number: number;
  pattern: string;
  hold: string;
  readonly out: string[];
  /** Whether the range of each command is open. */
  readonly open: Map<Command, boolean>;
  steps: number;
  isDoubtful: boolean;
}

function isAt(address: Address, { number, lines, pattern }: Editor): boolean {
  if (address === "$") return number === lines.length;
  return typeof address === "number" ? number === address : pattern.includes(address.contains);
}

function isChosen(command: Command, editor: Editor): boolean {
  const { from, to, negated } = command;
  if (from === null) return true;
  if (to === null) return isAt(from, editor) !== negated;
  if (editor.open.get(command) === true) {
    const isLast = typeof to === "number" ? editor.number >= to : isAt(to, editor);
    if (isLast) editor.open.set(command, false);
    // The line that ends the range went by inside of an n or N: the rules for this case are not widely known.
    if (typeof to === "number" && editor.number > to) editor.isDoubtful = true;
    return !negated;
  }
  // Nor are those for a range whose first line did not get as far as this command.
  if (typeof from === "number" && editor.number > from && !editor.open.has(command)) editor.isDoubtful = true;
  if (!isAt(from, editor)) return negated;
  // And for a line that meets its range again because D began a cycle without a new line.
  if (typeof from === "number" && editor.open.has(command)) editor.isDoubtful = true;
  const goesOn = typeof to === "number" ? editor.number < to : to !== "$" || editor.number < editor.lines.length;
  editor.open.set(command, goesOn);
  return !negated;
}

type After = "next" | "end" | "quit" | "again" | "go";

function execute({ name, texts }: Command, editor: Editor, quiet: boolean): After {
  const [first = "", second = "", flag = ""] = texts;
  const isLast = editor.number === editor.lines.length;
  const print = (text: string): number => editor.out.push(...text.split("\n"));
  if (name === "s")
    editor.pattern = flag === "g" ? editor.pattern.replaceAll(first, second) : editor.pattern.replace(first, second);
  if (name === "y")
    editor.pattern = editor.pattern.replaceAll(/[a-z]/gu, (letter) => second[first.indexOf(letter)] ?? letter);
  if (name === "p") print(editor.pattern);
  if (name === "h") editor.hold = editor.pattern;
  if (name === "H") editor.hold += `\n${editor.pattern}`;
  if (name === "g") editor.pattern = editor.hold;
  if (name === "G") editor.pattern += `\n${editor.hold}`;
  if (name === "x") [editor.pattern, editor.hold] = [editor.hold, editor.pattern];
  if (name === "P") print(editor.pattern.split("\n")[0] ?? "");
  if (name === "d") return "end";
  if (name === "q") return "quit";
  if (name === "D") {
    const cut = editor.pattern.indexOf("\n");
    if (cut < 0) return "end";
    editor.pattern = editor.pattern.slice(cut + 1);
    return "again";
  }
  if (name === "n" || name === "N") {
    // GNU sed prints what it has when there is no next line.
    if (isLast) return "quit";
    if (name === "n" && !quiet) print(editor.pattern);
    const next = at(editor.lines, editor.number);
    editor.number += 1;
    editor.pattern = name === "n" ? next : `${editor.pattern}\n${next}`;
  }
  return "go";
}

function outputOf(
  lines: readonly string[],
  commands: readonly Command[],
  quiet: boolean,
): { out: string[]; steps: number } | null {
  const editor: Editor = {
    lines,
    number: 0,
    pattern: "",
    hold: "",
    out: [],
    open: new Map(),
    steps: 0,
    isDoubtful: false,
  };
  let keeps = false;
  for (;;) {
    if (!keeps) {
      if (editor.number === lines.length) return editor;
      editor.pattern = at(lines, editor.number);
      editor.number += 1;
    }
    keeps = false;
    let after: After = "go";
    for (const command of commands) {
      if (!isChosen(command, editor)) continue;
      editor.steps += 1;
      after = execute(command, editor, quiet);
      const longest = Math.max(editor.pattern.length, editor.hold.length);
      if (editor.isDoubtful || editor.steps > MOST_STEPS || longest > MOST_CHARACTERS) return null;
      if (after !== "go") break;
    }
    if (after === "again") keeps = true;
    if (!quiet && (after === "go" || after === "quit")) editor.out.push(...editor.pattern.split("\n"));
    if (after === "quit") return editor;
  }
}

function make(rng: Rng, level: Level) {
  const [length, count, letters, least, most] = at(SIZES, level - 1);
  const words = distinct(4, () => word(rng, 1));
  const lines = range(length).map(
    (index) => `${rng.pick(words)}${index + 1}${rng.integer(2) === 0 ? rng.pick(words) : ""}`,
  );
  const piece = (): string => rng.pick(words).slice(0, between(rng, 1, 2));
  const address = (): Address =>
    rng.integer(3) === 0 ? { contains: piece() } : rng.integer(6) === 0 ? "$" : between(rng, 1, length);
  const drawCommand = (): Command => {
    const name = rng.pick(letters);
    const kind = rng.integer(4);
    const mustHave = name === "d" || name === "q" || name === "D" || name === "N";
    const from = kind === 0 && !mustHave ? null : address();
    const to = kind === 1 && name !== "q" && from !== "$" ? address() : null;
    const [first, second] = distinct(2, () => word(rng, 1).slice(0, 2));
    const texts =
      name === "s"
        ? [piece(), second ?? "", rng.pick(["", "g"])]
        : name === "y"
          ? [first ?? "", (second ?? "").slice(0, 2), ""]
          : [];
    return { from, to, negated: from !== null && rng.integer(5) === 0, name, texts };
  };
  const commands = range(count).map(drawCommand);
  // y maps different letters, as many as it has images.
  if (
    commands.some(
      ({ name, texts: [a = "", b = ""] }) => name === "y" && (a.length !== b.length || new Set(a).size < a.length),
    )
  )
    return null;
  const quiet = rng.integer(4) === 0;
  const run = (some: readonly Command[], isQuiet = quiet): string[] => outputOf(lines, some, isQuiet)?.out ?? [];
  const result = outputOf(lines, commands, quiet);
  if (result === null || result.steps < least || result.steps > most) return null;
  const items = result.out;
  if (items.length < 3 || items.length > 24 || items.includes("")) return null;
  // Each command changes the output.
  if (
    range(count).some(
      (without) => run(commands.filter((_, index) => index !== without)).join("\n") === items.join("\n"),
    )
  )
    return null;
  const misses = [
    run(commands, !quiet),
    run(commands.slice(0, -1)),
    run(commands.map((one) => ({ ...one, to: null }))),
    run(commands.toReversed()),
  ];
  return {
    problem: { lines, script: commands.map(commandText), quiet },
    items,
    misses: misses.filter((miss) => miss.length > 0 && !miss.includes("")),
    effort: result.steps,
  };
}
