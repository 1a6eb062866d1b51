/** stale-targets: the recipes that make runs, in its order, after files were touched or deleted. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface MakeRule {
  target: string;
  needs: string[];
  /** Prerequisites after the bar: they come first, but their age does not matter. */
  orderOnly: string[];
  isPhony: boolean;
}
export interface StaleProblem {
  rules: MakeRule[];
  sources: string[];
  touched: string[];
  deleted: string[];
  goal: string;
}

/** By level: sources, rules, most prerequisites, touched sources, deleted targets, kinds of rules. */
const SIZES = [
  [3, 3, 2, 1, 0, 1],
  [4, 5, 2, 1, 0, 1],
  [5, 7, 3, 2, 1, 2],
  [6, 10, 3, 2, 1, 3],
  [8, 15, 4, 3, 2, 3],
] as const;

export const staleTargets = itemRow<StaleProblem>({
  id: "stale-targets",
  asks: "the recipes that make runs, in order, after files were touched or deleted",
  form: "list",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${makefile(one)}\n\nThe recipe of a target creates or updates its file; those of phony targets make no file. Everything was up to date. Then ${changes(one)}. Which recipes does "make ${one.goal}" run, in which order (one job at a time)? List the targets with commas.`,
    (one) =>
      `After a complete build ${changes(one)}.\n\n${makefile(one)}\n\nSomebody calls make ${one.goal}. GNU make works through prerequisites from left to right, one recipe at a time, and each recipe of a target that is not phony writes the file. Write the targets whose recipes run, in the order of their runs, comma-separated.`,
    (one) =>
      `Makefile:\n\n${makefile(one)}\n\nAll files existed and were newer than their prerequisites until ${changes(one)}. Simulate "make ${one.goal}" without parallel jobs: the sequence of targets that are remade (phony ones included), separated by commas.`,
    (one) =>
      `Which targets does GNU make remake for ${one.goal}, and in what order?\n\n${makefile(one)}\n\nState before: an up-to-date tree in which ${changes(one)}. Recipes write their target, unless it is phony. Answer with the names in order, with commas.`,
  ],
});

function makefile({ rules }: StaleProblem): string {
  const phony = rules.filter(({ isPhony }) => isPhony).map(({ target }) => target);
  const lines = rules.map(({ target, needs, orderOnly }) => {
    const bar = orderOnly.length === 0 ? "" : ` | ${orderOnly.join(" ")}`;
    return `${target}: ${needs.join(" ")}${bar}\n\t./build $@`;
  });
  return [...(phony.length === 0 ? [] : [`.PHONY: ${phony.join(" ")}`]), ...lines].join("\n");
}

function changes({ touched, deleted }: StaleProblem): string {
  const gone = deleted.length === 0 ? "" : ` and ${deleted.join(", ")} deleted`;
  return `${touched.join(", ")} ${touched.length === 1 ? "was" : "were"} touched${gone}`;
}

/** Targets in the order in which they are remade. */
function remade(rules: readonly MakeRule[], fresh: ReadonlySet<string>, goal: string): string[] {
  const done = new Map<string, boolean>();
  const order: string[] = [];
  // Whether the target is newer than what was built before.
  const visit = (name: string): boolean => {
    const known = done.get(name);
    if (known !== undefined) return known;
    const rule = rules.find(({ target }) => target === name);
    if (rule === undefined) {
      done.set(name, fresh.has(name));
      return fresh.has(name);
    }
    const isOld = rule.needs.map(visit).includes(true);
    for (const one of rule.orderOnly) visit(one);
    const isMade = rule.isPhony || fresh.has(name) || isOld;
    if (isMade) order.push(name);
    done.set(name, isMade);
    return isMade;
  };
  visit(goal);
  return order;
}

function make(rng: Rng, level: Level) {
  const [sourceCount, ruleCount, most, touches, deletions, kinds] = at(SIZES, level - 1);
  const sources = distinct(sourceCount, () => `${word(rng, 1)}.c`);
  const targets = distinct(ruleCount, () => word(rng, 2));
  const rules = targets.map((target, index): MakeRule => {
    const before = [...targets.slice(Math.max(0, index - 5), index), ...sources];
    const needs = sample(before, between(rng, 1, most), rng);
    const others = before.filter((one) => !needs.includes(one) && !sources.includes(one));
    const orderOnly = kinds >= 2 && rng.integer(3) === 0 ? sample(others, 1, rng) : [];
    return { target, needs, orderOnly, isPhony: kinds >= 3 && rng.integer(6) === 0 };
  });
  const touched = sample(sources, touches, rng);
  const real = rules.filter(({ isPhony }) => !isPhony).map(({ target }) => target);
  const deleted = sample(real.slice(0, -1), deletions, rng);
  const goal = targets.at(-1) ?? "";
  const fresh = new Set([...touched, ...deleted]);
  const items = remade(rules, fresh, goal);
  const all = remade(rules, new Set(sources), goal);
  if (items.length < Math.max(2, ruleCount / 4) || items.length > 0.75 * ruleCount || items.length >= all.length)
    return null;
  const plain = rules.map((rule) => ({ ...rule, needs: [...rule.needs, ...rule.orderOnly], orderOnly: [] }));
  const misses = [
    all,
    remade(plain, fresh, goal),
    remade(
      rules.map((rule) => ({ ...rule, isPhony: false })),
      fresh,
      goal,
    ),
    items.toReversed(),
    targets.filter((target) => items.includes(target)),
    remade(rules, new Set(touched), goal),
  ];
  const edges = rules.reduce((sum, { needs, orderOnly }) => sum + needs.length + 2 * orderOnly.length, 0);
  return {
    problem: { rules: sample(rules, ruleCount, rng), sources, touched, deleted, goal },
    items,
    misses,
    effort: edges + items.length + 2 * deletions,
  };
}
