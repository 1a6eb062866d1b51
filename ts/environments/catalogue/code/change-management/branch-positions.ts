/** branch-positions: the first-parent histories of branches after commits, merges, resets and moved branches. */
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface BranchProblem {
  commands: string[];
}

/** By level: commands, and kinds of them from the front of the list. */
const SIZES = [
  [6, 3],
  [9, 4],
  [12, 5],
  [16, 6],
  [23, 7],
] as const;
const KINDS = ["commit", "branch", "switch", "merge", "reset", "force", "detach"] as const;
const NAMES = ["dev", "fix", "old"];
const WANTED =
  "For each branch that exists at the end, in alphabetical order, give a line with its name, a colon, and the messages of git log --first-parent for it, newest first, with spaces between them. Commits may be empty; a merge makes a commit only where git cannot fast-forward, and does nothing where it is up to date.";

interface Repository {
  readonly commits: { readonly message: string; readonly parents: readonly number[] }[];
  readonly branches: Map<string, number>;
  /** The branch that is checked out; null: none. */
  head: string | null;
  at: number;
}

export const branchPositions = itemRow<BranchProblem>({
  id: "branch-positions",
  asks: "the first-parent histories of all branches after commits, merges, resets and moved branches",
  form: "lines",
  tries: 20,
  make,
  prompts: [
    ({ commands }) => `In a new repository whose first branch is main:\n\n${commands.join("\n")}\n\n${WANTED}`,
    ({ commands }) =>
      `${WANTED}\n\nThe commands, from an empty repository on the branch main:\n\n${commands.join("\n")}`,
    ({ commands }) =>
      `Follow HEAD and the branches (the repository starts empty, on main):\n\n$ ${commands.join("\n$ ")}\n\n${WANTED}`,
    ({ commands }) =>
      `Somebody types\n\n${commands.join("\n")}\n\nafter git init with main as branch. Where does every branch point? ${WANTED}`,
  ],
});

function ancestors(repository: Repository, from: number): Set<number> {
  const seen = new Set([from]);
  for (const commit of seen) for (const parent of at(repository.commits, commit).parents) seen.add(parent);
  return seen;
}

/** The command, or null where it fails or does nothing worth asking. It changes the repository. */
function apply(repository: Repository, kind: (typeof KINDS)[number], name: string): string | null {
  const { commits, branches, head } = repository;
  const move = (to: number): void => {
    repository.at = to;
    if (head !== null) branches.set(head, to);
  };
  const place = branches.get(name);
  if (kind === "commit") {
    const message = `c${commits.length + 1}`;
    move(commits.push({ message, parents: [repository.at] }) - 1);
    return `git commit -q --allow-empty -m ${message}`;
  }
  if (kind === "branch") {
    if (place !== undefined) return null;
    branches.set(name, repository.at);
    return `git branch ${name}`;
  }
  if (kind === "switch") {
    if (place === undefined || name === head) return null;
    repository.head = name;
    repository.at = place;
    return `git checkout -q ${name}`;
  }
  if (kind === "merge") {
    if (place === undefined || name === head) return null;
    const message = `m${commits.length + 1}`;
    if (ancestors(repository, place).has(repository.at)) move(place);
    else if (!ancestors(repository, repository.at).has(place))
      move(commits.push({ message, parents: [repository.at, place] }) - 1);
    return `git merge -q -m ${message} ${name}`;
  }
  const back = at(commits, repository.at).parents[0];
  if (kind === "reset") {
    if (back === undefined) return null;
    move(back);
    return "git reset -q --hard HEAD~1";
  }
  if (kind === "force") {
    if (place === undefined || name === head || place === repository.at) return null;
    branches.set(name, repository.at);
    return `git branch -q -f ${name}`;
  }
  if (back === undefined) return null;
  repository.head = null;
  repository.at = back;
  return "git checkout -q --detach HEAD~1";
}

function report({ commits, branches }: Repository, path: "first" | "all"): string[] {
  return [...branches]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, place]) => {
      const messages: string[] = [];
      if (path === "first")
        for (let commit: number | undefined = place; commit !== undefined; commit = at(commits, commit).parents[0])
          messages.push(at(commits, commit).message);
      else for (let commit = place; commit >= 0; commit--) messages.push(at(commits, commit).message);
      return `${name}: ${messages.join(" ")}`;
    });
}

function make(rng: Rng, level: Level) {
  const [length, kinds] = at(SIZES, level - 1);
  const repository: Repository = {
    commits: [{ message: "c1", parents: [] }],
    branches: new Map([["main", 0]]),
    head: "main",
    at: 0,
  };
  const commands = ["git commit -q --allow-empty -m c1"];
  let merges = 0;
  for (let draw = 0; draw < 20 * length && commands.length < length; draw++) {
    const kind = rng.integer(3) === 0 ? "commit" : at(KINDS, rng.integer(kinds));
    const command = apply(repository, kind, rng.pick(["main", ...NAMES.slice(0, level < 3 ? 2 : 3)]));
    if (command === null) continue;
    commands.push(command);
    merges += Number(kind === "merge");
  }
  const items = report(repository, "first");
  const bodies = new Set(items.map((item) => item.replace(/^\w+/u, "")));
  if (commands.length < length || items.length < 2 || bodies.size < 2 || (level > 1 && merges === 0)) return null;
  const all = report(repository, "all");
  const misses = [
    all,
    items.map((item) => item.replace(/(?<=: )\S+ /u, "")),
    items.toReversed(),
    items.map((item) => `${item} c1`),
  ];
  const effort = length + items.join(" ").split(" ").length + 2 * merges;
  return { problem: { commands }, items, misses, effort };
}
