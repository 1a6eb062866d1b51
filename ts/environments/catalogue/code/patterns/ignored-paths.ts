/** ignored-paths: the files that an ignore file with anchors, stars, folders and negations excludes, by the rules of git. */
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface IgnoreProblem {
  rules: string[];
  paths: string[];
}

/** By level: rules, paths, depth of folders, kinds of rules from the front of the list. */
const SIZES = [
  [2, 8, 2, 3],
  [3, 10, 2, 5],
  [5, 14, 3, 7],
  [7, 18, 3, 9],
  [9, 24, 4, 9],
] as const;
/** Draws of rules. */
const MOST_RULES = 60;
const ENDINGS = ["log", "ts", "md", "tmp", "json"];
const RULES =
  "Rules are those of a .gitignore file at the top: a later rule beats an earlier one; ! takes a path back in, but nothing inside an excluded folder; a rule that ends with / is for folders only; a rule with another / is anchored at the top, else it holds at every depth; * and ? do not cross a /, and ** stands for any number of folders.";

export const ignoredPaths = itemRow<IgnoreProblem>({
  id: "ignored-paths",
  asks: "the files that an ignore file with anchors, stars, folders and negations excludes",
  form: "set",
  tries: 20,
  make,
  prompts: [
    ({ rules, paths }) =>
      `Ignore file:\n\n${rules.join("\n")}\n\nFiles:\n\n${paths.join("\n")}\n\n${RULES} Which of the files are ignored? List them, separated by commas; a wrong one costs as much as a right one earns.`,
    ({ rules, paths }) =>
      `A repository has just these files, none of them tracked yet:\n\n${paths.join("\n")}\n\nIts .gitignore says\n\n${rules.join("\n")}\n\nName all files that git ignores (comma-separated, full paths). ${RULES} Every false name takes away a right one.`,
    ({ rules, paths }) =>
      `${RULES}\n\nRules:\n${rules.join("\n")}\n\nGo through\n\n${paths.join("\n")}\n\nand give those that are left out, with commas between. Wrong names are subtracted from right ones.`,
    ({ rules, paths }) =>
      `Which paths does this list of patterns exclude?\n\n${rules.join("\n")}\n\nCandidates:\n${paths.join("\n")}\n\n${RULES} Answer with the excluded paths separated by commas, in any order; false hits cancel hits.`,
  ],
});

/** A pattern without / as a regular expression on one name or, with `crosses`, on a whole path. */
function expression(pattern: string): RegExp {
  const text = pattern
    .replaceAll(/[.+^$(){}|]/gu, "\\$&")
    .replaceAll("?", "[^/]")
    .replaceAll(/(^|\/)\*\*\//gu, "$1<any>")
    .replaceAll(/\/\*\*$/gu, "/<all>")
    .replaceAll("*", "[^/]*")
    .replaceAll("<any>", "(?:.*/)?")
    .replaceAll("<all>", ".+");
  return new RegExp(`^${text}$`, "u");
}

interface Rule {
  readonly takesBack: boolean;
  readonly forFolders: boolean;
  readonly isPath: boolean;
  readonly shape: RegExp;
}

function ruleOf(text: string): Rule {
  const bare = text.replace(/^!/u, "");
  const body = bare.replace(/\/$/u, "");
  const shape = expression(body.replace(/^\//u, ""));
  return { takesBack: text.startsWith("!"), forFolders: bare.endsWith("/"), isPath: body.includes("/"), shape };
}

function isMatch({ forFolders, isPath, shape }: Rule, path: string, isFolder: boolean): boolean {
  if (forFolders && !isFolder) return false;
  return shape.test(isPath ? path : path.slice(path.lastIndexOf("/") + 1));
}

/** The ignored ones. Folders are decided from the top; what is in an excluded one is excluded. */
function ignored(texts: readonly string[], paths: readonly string[]): string[] {
  const rules = texts.map(ruleOf);
  return paths.filter((path) => {
    const names = path.split("/");
    return names.some((_, index) => {
      const part = names.slice(0, index + 1).join("/");
      const last = rules.findLast((rule) => isMatch(rule, part, index < names.length - 1));
      return last !== undefined && !last.takesBack;
    });
  });
}

function make(rng: Rng, level: Level) {
  const [count, files, depth, kinds] = at(SIZES, level - 1);
  const folders = distinct(4, () => word(rng, 1));
  const names = distinct(4, () => word(rng, 1));
  const file = (): string =>
    [...range(rng.integer(depth + 1)).map(() => rng.pick(folders)), `${rng.pick(names)}.${rng.pick(ENDINGS)}`].join(
      "/",
    );
  const paths = [...new Set(range(3 * files).map(file))].slice(0, files).toSorted();
  // A name cannot be a file and a folder.
  if (paths.length < files) return null;
  const drawRule = (): string => {
    const [folder, other] = [rng.pick(folders), rng.pick(folders)];
    const [called, ending] = [rng.pick(names), rng.pick(ENDINGS)];
    return at(
      [
        `*.${ending}`,
        `${folder}/`,
        `/${called}.*`,
        `!${called}.${ending}`,
        `/${folder}/*.${ending}`,
        `${folder}/${other}/`,
        `**/${folder}/${called}.*`,
        `!${folder}/${rng.pick(["", "**", `*.${ending}`])}`,
        rng.pick([`${folder}/**/*.${ending}`, `${called.slice(0, 1)}*.${ending.slice(0, 1)}?`, `${folder}/*`]),
      ],
      rng.integer(kinds),
    );
  };
  const of = (some: readonly string[]): string[] => ignored(some, paths);
  // Each rule changes something when it is written.
  let [rules, items]: [string[], string[]] = [[], []];
  for (let draw = 0; draw < MOST_RULES && rules.length < count; draw++) {
    const more = [...rules, drawRule()];
    const now = of(more);
    if (now.join() !== items.join() && now.length <= 0.45 * files) [rules, items] = [more, now];
  }
  if (rules.length < count || items.length < Math.max(2, files / 5)) return null;
  const misses = [
    of([...rules].reverse()),
    of(rules.filter((rule) => !rule.startsWith("!"))),
    paths.filter((path) => rules.some((rule) => !rule.startsWith("!") && isMatch(ruleOf(rule), path, false))),
    of(rules.map((rule) => rule.replace(/^(!?)\//u, "$1"))),
  ];
  return { problem: { rules, paths }, items, misses, universe: paths, effort: count * files };
}
