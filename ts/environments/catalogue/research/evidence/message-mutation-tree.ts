/** message-mutation-tree: from which version each version of a retold message was copied, by the changes that they share. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { sentence } from "../documents.ts";
import { fieldRow, type Solution } from "../../field-row.ts";

interface Given {
  /** `versions[v][slot]`: the detail that stands in a slot. */
  versions: string[][];
  /** Place of the first version, which the prompt names. */
  original: number;
}

/** By level: versions, changes at most in one copy. */
const SIZES = [
  [6, 1],
  [8, 1],
  [10, 2],
  [13, 2],
  [17, 3],
] as const;

export const messageMutationTree = fieldRow<Given>({
  id: "message-mutation-tree",
  asks: "from which version every version of a retold message was copied, by shared changes",
  draw,
  solve,
  isShared: true,
  values: () => "each value is the version from which it was copied",
  wordings: [
    (one) => `${shown(one)}\n\n${rules(one)} Find the version from which each of the others was copied.`,
    (one) =>
      `A message passed from scribe to scribe. ${rules(one)}\n\n${shown(one)}\n\nReconstruct who copied from whom.`,
    (one) =>
      `${rules(one)}\n\nThe surviving versions:\n${shown(one)}\n\nDraw the tree of copies: name the parent of every version but the first.`,
    (one) =>
      `Philologists order manuscripts by common errors. Here all manuscripts survive:\n${shown(one)}\n${rules(one)}\nState the direct source of every copy.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, most] = at(SIZES, level - 1);
  // Each slot is changed once at most, so no detail arises twice.
  const slots = (count - 1) * most;
  const words = distinct(2 * slots, () => word(rng, 2));
  const free = shuffled(range(slots), rng);
  const versions = [words.slice(0, slots)];
  const parents: number[] = [];
  for (const copy of range(count - 1)) {
    const parent = rng.integer(3) > 0 ? copy : rng.integer(copy + 1);
    const details = [...at(versions, parent)];
    for (const slot of free.splice(0, between(rng, 1, most))) details[slot] = at(words, slots + slot);
    versions.push(details);
    parents.push(parent);
  }
  const depth = new Set(parents).size;
  if (depth < 3 || depth === count - 1) return null;
  const changed = range(slots).filter((slot) => new Set(versions.map((details) => details[slot])).size > 1);
  const order = shuffled(range(count), rng);
  return {
    versions: order.map((version) => changed.map((slot) => at(at(versions, version), slot))),
    original: order.indexOf(0),
  };
}

function solve({ versions, original }: Given): Solution | null {
  const count = versions.length;
  const first = at(versions, original);
  const changes = versions.map((details) => details.flatMap((detail, slot) => (detail === first[slot] ? [] : [slot])));
  /** The largest set of changes that is a proper part of this one. */
  const parentOf = (version: number): number | null => {
    const own = at(changes, version);
    const candidates = range(count).filter(
      (other) => at(changes, other).length < own.length && at(changes, other).every((slot) => own.includes(slot)),
    );
    const most = Math.max(...candidates.map((other) => at(changes, other).length));
    const best = candidates.filter((other) => at(changes, other).length === most);
    return best.length === 1 ? at(best, 0) : null;
  };
  const copies = range(count).filter((version) => version !== original);
  const parents = copies.map(parentOf);
  if (parents.includes(null)) return null;
  const values = parents.map((parent) => `V${(parent ?? 0) + 1}`);
  const options = range(count).map((version) => `V${version + 1}`);
  return {
    fields: copies.map((version, index) => ({
      name: `V${version + 1}`,
      kind: "word",
      value: at(values, index),
      options,
    })),
    slips: [copies.map(() => `V${original + 1}`), copies.map((version) => `V${version === 0 ? count : version}`)],
    steps: count * count * first.length,
  };
}

function rules({ original }: Given): string {
  return `V${original + 1} is the first version. Every other one was copied from exactly one version on this list, with at least one change; no change was ever undone, and no two copyists made the same change.`;
}

function shown({ versions }: Given): string {
  return versions.map((details, index) => `V${index + 1}. ${sentence(details.join(" "))}`).join("\n");
}
