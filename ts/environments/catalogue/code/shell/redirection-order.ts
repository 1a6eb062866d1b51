/** redirection-order: the contents of files after commands with redirections, duplicated descriptors and appends. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Redirect = { fd: number; to: { file: string; appends: boolean } | number };
interface Line {
  /** Descriptors that the words of the group go to. */
  writes: { fd: number; word: string }[];
  redirects: Redirect[];
  /** Changes the descriptors of the shell itself. */
  isExec: boolean;
}
export interface RedirectProblem {
  script: string[];
  files: string[];
}

/** By level: lines, most redirections of a line, files, and whether the shell keeps descriptors open. */
const SIZES = [
  [2, 2, 1, false],
  [3, 2, 2, false],
  [4, 3, 2, true],
  [6, 3, 3, true],
  [8, 4, 3, true],
] as const;
const FILES = ["f", "g", "h"];
const TERMINAL = "terminal";

export const redirectionOrder = itemRow<RedirectProblem>({
  id: "redirection-order",
  asks: "the contents of files after commands with redirections and duplicated descriptors in some order",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `In an empty folder sh runs\n\n${one.script.join("\n")}\n\nBoth output streams of the shell go to the terminal at first. ${wanted(one)}`,
    (one) =>
      `${wanted(one)}\n\nThe script, for a POSIX shell whose standard output and standard error are a terminal:\n\n${one.script.join("\n")}\n\nNo file exists before.`,
    (one) =>
      `Where does each word end up?\n\n${one.script.join("\n")}\n\nThe shell starts with an empty folder, and with descriptors 1 and 2 on the terminal. ${wanted(one)}`,
    (one) =>
      `Redirections are carried out from left to right. Follow them:\n\n${one.script.join("\n")}\n\n(1 and 2 are the terminal at the beginning; there are no files yet.) ${wanted(one)}`,
  ],
});

function wanted({ files }: RedirectProblem): string {
  return `Give ${files.length + 1} lines, one for each of ${[TERMINAL, ...files].join(", ")} in this order: the name, a colon, and the words that it holds or shows in the end, in their order with spaces between them, or - for none.`;
}

function lineText({ writes, redirects, isExec }: Line): string {
  const targets = redirects.map(({ fd, to }) => {
    const name = fd === 1 ? "" : String(fd);
    return typeof to === "number" ? `${name}>&${to}` : `${name}${to.appends ? ">>" : ">"}${to.file}`;
  });
  if (isExec) return `exec ${targets.join(" ")}`;
  const commands = writes.map(({ fd, word }) => `echo ${word}${fd === 1 ? "" : ` >&${fd}`}`);
  return `{ ${commands.join("; ")}; } ${targets.join(" ")}`.trim();
}

/** An open file: descriptors that were duplicated share it with its place. */
interface Open {
  readonly file: string;
  readonly appends: boolean;
  place: number;
}

/** Words by file, or null where a descriptor is not open. All words have one length, so places are counted in words. */
function contents(lines: readonly Line[], isBackwards = false): Map<string, string[]> | null {
  const held = new Map<string, string[]>([[TERMINAL, []]]);
  const terminal: Open = { file: TERMINAL, appends: true, place: 0 };
  const shell = new Map<number, Open>([
    [1, terminal],
    [2, terminal],
  ]);
  const redirect = (table: Map<number, Open>, redirects: readonly Redirect[]): boolean => {
    for (const { fd, to } of isBackwards ? redirects.toReversed() : redirects) {
      if (typeof to === "number") {
        const open = table.get(to);
        if (open === undefined) return false;
        table.set(fd, open);
      } else {
        if (!to.appends || !held.has(to.file)) held.set(to.file, to.appends ? (held.get(to.file) ?? []) : []);
        table.set(fd, { file: to.file, appends: to.appends, place: 0 });
      }
    }
    return true;
  };
  for (const { writes, redirects, isExec } of lines) {
    const table = isExec ? shell : new Map(shell);
    if (!redirect(table, redirects)) return null;
    for (const { fd, word } of writes) {
      const open = table.get(fd);
      const words = open === undefined ? undefined : held.get(open.file);
      if (open === undefined || words === undefined) return null;
      const place = open.appends ? words.length : open.place;
      // A gap would be filled with zero bytes.
      if (place > words.length) return null;
      words[place] = word;
      open.place = place + 1;
    }
  }
  return held;
}

function make(rng: Rng, level: Level) {
  const [count, most, fileCount, hasExec] = at(SIZES, level - 1);
  const files = FILES.slice(0, fileCount);
  let word = 10;
  const lines = range(count).map((index): Line => {
    const isExec = hasExec && index < count - 1 && rng.integer(3) === 0;
    const fds = hasExec ? [1, 2, 3] : [1, 2];
    const redirects = range(between(rng, isExec ? 1 : 0, most)).map((): Redirect => {
      const file = { file: rng.pick(files), appends: rng.integer(3) === 0 };
      const fd = isExec ? rng.pick([3, 3, 2]) : rng.pick(fds);
      return { fd, to: rng.integer(2) === 0 ? rng.pick(fds.filter((other) => other !== fd)) : file };
    });
    const writes = isExec ? [] : range(between(rng, 2, 3)).map(() => ({ fd: rng.pick(fds), word: `w${word++}` }));
    return { writes, redirects, isExec };
  });
  const held = contents(lines);
  const turned = contents(lines, true);
  if (held === null || lines.flatMap(({ redirects }) => redirects).length < 2 * count - 2) return null;
  const report = (some: ReadonlyMap<string, readonly string[]> | null): string[] =>
    [TERMINAL, ...files].map((name) => `${name}: ${(some?.get(name) ?? []).join(" ") || "-"}`);
  const items = report(held);
  const shown = items.filter((item) => !item.endsWith(": -"));
  const isPlain = shown.length < Math.min(items.length, 2) || report(turned).join() === items.join();
  if (isPlain || files.some((name) => !held.has(name))) return null;
  const appended = lines.map((line) => ({
    ...line,
    redirects: line.redirects.map(({ fd, to }) => ({ fd, to: typeof to === "number" ? to : { ...to, appends: true } })),
  }));
  const misses = [report(turned), report(contents(appended)), sample(items, items.length, rng)];
  const effort = lines.reduce((sum, { writes, redirects }) => sum + writes.length + 2 * redirects.length, 0);
  return { problem: { script: lines.map(lineText), files }, items, misses, effort };
}
