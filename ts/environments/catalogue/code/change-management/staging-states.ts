/** staging-states: what git status says about files after edits, adds, removals, unstaging and commits. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface StagingProblem {
  files: string[];
  /** Of these the first commit has all but the last. */
  commands: string[];
}

/** By level: files, commands, kinds of commands from the front of the list. */
const SIZES = [
  [2, 4, 3],
  [3, 6, 4],
  [4, 9, 6],
  [5, 13, 8],
  [6, 19, 9],
] as const;
const KINDS = ["edit", "add", "remove", "unstage", "forget", "restore", "commit", "add-all", "stage-delete"] as const;

/** Versions of a file in the last commit, the index and the folder; 0: it is not there. */
interface Versions {
  head: number;
  index: number;
  work: number;
}

export const stagingStates = itemRow<StagingProblem>({
  id: "staging-states",
  asks: "what git status reports of each file after edits, adds, removals, unstaging and commits",
  form: "lines",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `${start(one)}\n\nThen these commands run, all of them without errors:\n\n${one.commands.join("\n")}\n\n${WANTED}`,
    (one) => `${WANTED}\n\n${start(one)} After that:\n\n${one.commands.join("\n")}`,
    (one) =>
      `What is the state of the index and of the working tree?\n\n${start(one)}\n\n$ ${one.commands.join("\n$ ")}\n\n${WANTED}`,
    (one) =>
      `A colleague shows the history of a shell:\n\n${one.commands.join("\n")}\n\nBefore it: ${start(one)} Each line that is written makes the file differ from all its earlier versions. ${WANTED}`,
  ],
});

const WANTED =
  "Give the output of git status --porcelain --no-renames, sorted by file name, one line for each file that it mentions: the two letters with . instead of a blank, a blank, the name (?? for files that are not tracked).";

function start({ files }: StagingProblem): string {
  return `A git repository has one commit with the files ${files.slice(0, -1).join(", ")}, and nothing else; the folder is clean.`;
}

/** The command, or null where it would fail or do nothing. It changes the versions. */
function apply(
  kind: (typeof KINDS)[number],
  [file, one, all]: readonly [string, Versions, readonly Versions[]],
  number: number,
): string | null {
  const { head, index, work } = one;
  if (kind === "edit") {
    one.work = number;
    return `echo ${number} >> ${file}`;
  }
  if (kind === "add") {
    if (work === 0 || work === index) return null;
    one.index = work;
    return `git add ${file}`;
  }
  if (kind === "remove") {
    if (work === 0) return null;
    one.work = 0;
    return `rm ${file}`;
  }
  if (kind === "unstage") {
    if (index === head) return null;
    one.index = head;
    return `git reset -q -- ${file}`;
  }
  if (kind === "forget") {
    if (index === 0) return null;
    one.index = 0;
    return `git rm -q -f --cached ${file}`;
  }
  if (kind === "restore") {
    if (index === 0 || index === work) return null;
    one.work = index;
    return `git checkout -q -- ${file}`;
  }
  if (kind === "commit") {
    if (all.every((other) => other.head === other.index)) return null;
    for (const other of all) other.head = other.index;
    return `git commit -q -m c${number}`;
  }
  if (kind === "add-all") {
    if (all.every((other) => other.index === 0 || other.index === other.work)) return null;
    for (const other of all) if (other.index !== 0) other.index = other.work;
    return "git add -u";
  }
  // git rm refuses a file that differs from the last commit or the index.
  if (index === 0 || index !== head || (work !== 0 && work !== index)) return null;
  one.index = 0;
  one.work = 0;
  return `git rm -q ${file}`;
}

function statusOf(files: readonly string[], versions: readonly Versions[]): string[] {
  return files.flatMap((file, place) => {
    const { head, index, work } = at(versions, place);
    const untracked = index === 0 && work !== 0;
    const letter = (from: number, to: number): string => (from === to ? "." : from === 0 ? "A" : to === 0 ? "D" : "M");
    const staged = letter(head, index);
    if (untracked) return staged === "." ? [`?? ${file}`] : [`${staged}. ${file}`, `?? ${file}`];
    const here = index === 0 ? "." : letter(index, work);
    return staged + here === ".." ? [] : [`${staged}${here} ${file}`];
  });
}

function make(rng: Rng, level: Level) {
  const [count, length, kinds] = at(SIZES, level - 1);
  const files = range(count).map((index) => `${at("abcdefg".split(""), index)}.txt`);
  const fresh = (): Versions[] =>
    range(count).map((index) =>
      index === count - 1 ? { head: 0, index: 0, work: 0 } : { head: 1, index: 1, work: 1 },
    );
  const versions = fresh();
  const commands: string[] = [];
  for (let draw = 0; draw < 20 * length && commands.length < length; draw++) {
    const kind = at(KINDS, rng.integer(kinds));
    const place = rng.integer(count);
    const command = apply(kind, [at(files, place), at(versions, place), versions], commands.length + 2);
    if (command !== null) commands.push(command);
  }
  const items = statusOf(files, versions);
  if (commands.length < length || items.length < Math.max(2, count - 2)) return null;
  const ignoring = versions.map(({ head, work }) => ({ head, index: work, work }));
  const unstaged = versions.map(({ head, work }) => ({ head, index: head, work }));
  const misses = [
    statusOf(files, ignoring),
    statusOf(files, unstaged),
    items.map((item) => `${item[1]}${item[0]}${item.slice(2)}`),
  ];
  return {
    problem: { files, commands },
    items,
    misses: misses.filter((miss) => miss.length > 0),
    effort: length + 2 * items.length,
  };
}
