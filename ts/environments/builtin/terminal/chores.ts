/** Small chores with files and texts, made of random words and numbers: the files before, the request, the files after. */
import type { Rng } from "../../../random/rng.ts";
import { distinct, word } from "../words.ts";

export interface Chore {
  readonly ask: string;
  /** Content by path, before. */
  readonly files: Record<string, string>;
  /** Content by path, after; null: the file is gone. */
  readonly expected: Record<string, string | null>;
  /** A solution for `sh`. */
  readonly solution: string;
}

export const CHORES = ["lines", "count", "sum", "find", "replace", "rename", "sort-out"] as const;
export type ChoreKind = (typeof CHORES)[number];

/** `files`: number of files. */
export function makeChore(kind: ChoreKind, rng: Rng, files: number): Chore {
  return MAKERS[kind](rng, files);
}

const between = (rng: Rng, low: number, high: number): number => low + rng.integer(high - low + 1);
const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

/** Lines of three words; some of them hold `marked`, at least one in the first file. */
function someLines(rng: Rng, marked: string): string[] {
  return distinct(between(rng, 4, 10), () => {
    const words = [word(rng), word(rng), word(rng)];
    if (rng.integer(3) === 0) words[rng.integer(3)] = marked;
    return words.join(" ");
  });
}

function someFiles(rng: Rng, count: number, marked: string): { path: string; lines: string[] }[] {
  return distinct(count, () => `${word(rng, 1)}.txt`).map((name, index) => ({
    path: `notes/${name}`,
    lines: [...someLines(rng, marked), ...(index === 0 ? [`${marked} ${word(rng)} ${marked}`] : [])],
  }));
}

const contents = (files: readonly { path: string; lines: readonly string[] }[]): Record<string, string> =>
  Object.fromEntries(files.map(({ path, lines }) => [path, text(lines)]));
/** As whole words: words are made of letters only. */
const has = (line: string, wanted: string): boolean => line.split(" ").includes(wanted);

const MAKERS: Readonly<Record<ChoreKind, (rng: Rng, count: number) => Chore>> = {
  lines(rng, count) {
    const marked = word(rng, 3);
    const files = someFiles(rng, count, marked);
    const found = files.flatMap(({ lines }) => lines.filter((line) => has(line, marked))).toSorted();
    return {
      ask: `Collect every line of the files in notes/ that contains the word "${marked}". Write these lines, sorted by byte value, to answer.txt.`,
      files: contents(files),
      expected: { "answer.txt": text(found) },
      solution: `cat notes/* | grep -w '${marked}' | LC_ALL=C sort > answer.txt`,
    };
  },
  count(rng, count) {
    const marked = word(rng, 3);
    const files = someFiles(rng, count, marked);
    const found = files.flatMap(({ lines }) => lines.filter((line) => has(line, marked)));
    return {
      ask: `How many lines of the files in notes/ contain the word "${marked}"? Write the number to answer.txt.`,
      files: contents(files),
      expected: { "answer.txt": `${found.length}\n` },
      solution: `cat notes/* | grep -cw '${marked}' > answer.txt`,
    };
  },
  sum(rng, count) {
    const items = distinct(3, () => word(rng));
    const wanted = rng.pick(items);
    const rows = Array.from({ length: 4 * count }, () => ({ item: rng.pick(items), amount: between(rng, 1, 99) }));
    const total = rows.reduce((sum, { item, amount }) => sum + (item === wanted ? amount : 0), 0);
    return {
      ask: `sales.csv has the columns item and amount. Write the sum of the amounts of "${wanted}" to answer.txt.`,
      files: { "sales.csv": text(["item,amount", ...rows.map(({ item, amount }) => `${item},${amount}`)]) },
      expected: { "answer.txt": `${total}\n` },
      solution: `awk -F, '$1 == "${wanted}" { s += $2 } END { print s + 0 }' sales.csv > answer.txt`,
    };
  },
  find(rng, count) {
    const files = someFiles(rng, count, word(rng));
    const secret = word(rng, 4);
    const chosen = files[rng.integer(files.length)];
    chosen?.lines.splice(rng.integer(chosen.lines.length), 0, `${word(rng)} ${secret} ${word(rng)}`);
    return {
      ask: `One of the files in notes/ contains the word "${secret}". Write its path (notes/...) to answer.txt.`,
      files: contents(files),
      expected: { "answer.txt": `${chosen?.path ?? ""}\n` },
      solution: `grep -lw '${secret}' notes/* > answer.txt`,
    };
  },
  replace(rng, count) {
    const [from, to] = [word(rng, 3), word(rng, 3)];
    const files = someFiles(rng, count, from);
    const after = files.map(({ path, lines }) => ({
      path,
      lines: lines.map((line) =>
        line
          .split(" ")
          .map((one) => (one === from ? to : one))
          .join(" "),
      ),
    }));
    return {
      ask: `Replace the word "${from}" by "${to}" wherever it stands in the files in notes/.`,
      files: contents(files),
      expected: contents(after),
      solution: `sed -i 's/\\b${from}\\b/${to}/g' notes/*`,
    };
  },
  rename(rng, count) {
    const files = someFiles(rng, count, word(rng));
    const renamed = (path: string): string => path.replace(/\.txt$/u, ".md");
    return {
      ask: "Rename every file in notes/ that ends in .txt so that it ends in .md instead; their contents stay as they are.",
      files: contents(files),
      expected: Object.fromEntries(
        files.flatMap(({ path, lines }) => [
          [renamed(path), text(lines)],
          [path, null],
        ]),
      ),
      solution: 'for f in notes/*.txt; do mv "$f" "${f%.txt}.md"; done',
    };
  },
  "sort-out"(rng, count) {
    const folders = distinct(2, () => word(rng, 3));
    const files = someFiles(rng, count, word(rng)).map(({ path, lines }) => ({
      path,
      folder: rng.pick(folders),
      lines,
    }));
    const whole = (file: (typeof files)[number]): string => text([`to: ${file.folder}`, ...file.lines]);
    return {
      ask: 'The first line of each file in notes/ is "to: " and the name of a folder. Move each file into that folder, beside notes/, and make the folders that you need.',
      files: Object.fromEntries(files.map((file) => [file.path, whole(file)])),
      expected: Object.fromEntries(
        files.flatMap((file) => [
          [file.path.replace("notes", file.folder), whole(file)],
          [file.path, null],
        ]),
      ),
      solution: 'for f in notes/*; do d=$(sed -n "1s/^to: //p" "$f"); mkdir -p "$d"; mv "$f" "$d/"; done',
    };
  },
};
