/** struct-layout: offsets and size of a structure under described alignment rules, and the least size of any order of its members. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** A member: a number of some bytes, or a structure that stands before it; perhaps several in a row. */
interface Member {
  name: string;
  bytes: number | null;
  struct: number | null;
  count: number;
}
export interface LayoutProblem {
  /** The last one is asked for. */
  structs: Member[][];
  /** Largest alignment; null: as the size of the number. */
  pack: number | null;
}

/** By level: members of the last structure, structures before it, and whether alignments may be limited. */
const SIZES = [
  [4, 0, false],
  [6, 0, false],
  [7, 1, false],
  [9, 1, true],
  [11, 2, true],
] as const;
const NAMES = ["alpha", "beta", "gamma", "delta", "count", "flags", "next", "size", "kind", "mark", "left", "right"];

export const structLayout = itemRow<LayoutProblem>({
  id: "struct-layout",
  asks: "offsets, size and best size of a C structure under stated alignment rules",
  form: "list",
  make,
  prompts: [
    (one) =>
      `${layoutSource(one)}\n\n${rules(one)}\n\nGive the offset of every member of struct S${one.structs.length} in its order, then sizeof(struct S${one.structs.length}), then the least size that any order of its members could have. Numbers only, separated by commas.`,
    (one) =>
      `A compiler lays out structures like this: ${rules(one)}\n\n${layoutSource(one)}\n\nWhere does each member of S${one.structs.length} begin, how large is S${one.structs.length}, and how small could it get by sorting its members? List the offsets in declaration order, the size, and the smallest possible size, with commas between.`,
    (one) =>
      `Memory layout. Declarations (C, intN_t has N bits):\n\n${layoutSource(one)}\n\nRules: ${rules(one)}\n\nAnswer with a comma-separated list: first all offsets in struct S${one.structs.length}, then its total size in bytes, and last the minimal total size over all orders of the same members.`,
    (one) =>
      `Someone reads a binary dump of struct S${one.structs.length} and needs the byte offsets of its members.\n\n${layoutSource(one)}\n\n${rules(one)}\n\nState these offsets from the first member to the last, followed by the size of the structure and by the size that it would have with the best order of members. Separate by commas.`,
  ],
});

export function layoutSource({ structs, pack }: LayoutProblem): string {
  const body = structs.map((members, index) => {
    const lines = members.map(({ name, bytes, struct, count }) => {
      const type = bytes === null ? `struct S${(struct ?? 0) + 1}` : `int${8 * bytes}_t`;
      return `    ${type} ${name}${count === 1 ? "" : `[${count}]`};`;
    });
    return `struct S${index + 1} {\n${lines.join("\n")}\n};`;
  });
  return `${pack === null ? "" : `#pragma pack(${pack})\n`}${body.join("\n")}`;
}

function rules({ pack }: LayoutProblem): string {
  const limit = pack === null ? "" : ` No alignment is larger than ${pack}.`;
  return `A number of n bytes is aligned to n, an array like its elements, and a structure like its most strictly aligned member.${limit} Members follow each other with the least padding, and the size of a structure is a multiple of its alignment.`;
}

function make(rng: Rng, level: Level) {
  const [count, before, isPacked] = at(SIZES, level - 1);
  const structs = range(before + 1).map((index): Member[] =>
    sample(NAMES, index === before ? count : between(rng, 2, 3), rng).map((name) => {
      const isStruct = index > 0 && rng.integer(4) === 0;
      return {
        name,
        bytes: isStruct ? null : rng.pick([1, 1, 2, 4, 8]),
        struct: isStruct ? rng.integer(index) : null,
        count: rng.integer(4) === 0 ? between(rng, 2, 3) : 1,
      };
    }),
  );
  const problem: LayoutProblem = { structs, pack: isPacked && rng.integer(2) === 0 ? rng.pick([2, 4]) : null };
  const last = at(structs, before);
  if (before > 0 && !last.some(({ struct }) => struct !== null)) return null;
  const items = answerOf(problem);
  const [size, best] = items.slice(-2).map(Number);
  if (size === best) return null;
  const misses = [
    answerOf({ ...problem, pack: 1 }),
    answerOf({ structs, pack: problem.pack === null ? 4 : null }),
    [...items.slice(0, -1), at(items, count)],
  ];
  const nested = last.filter(({ struct, count: times }) => struct !== null || times > 1).length;
  return { problem, items, misses, effort: 2 * count + 4 * before + nested };
}

function answerOf({ structs, pack }: LayoutProblem): string[] {
  const sizes: { size: number; align: number }[] = [];
  let answer: number[] = [];
  for (const members of structs) {
    const offsets: number[] = [];
    let [end, align, sum] = [0, 1, 0];
    for (const { bytes, struct, count } of members) {
      const own = bytes === null ? at(sizes, struct ?? 0) : { size: bytes, align: Math.min(bytes, pack ?? bytes) };
      end = upTo(end, own.align);
      offsets.push(end);
      end += own.size * count;
      sum += own.size * count;
      align = Math.max(align, own.align);
    }
    sizes.push({ size: upTo(end, align), align });
    // Sizes are multiples of alignments, so an order of falling alignment needs no padding between members.
    answer = [...offsets, upTo(end, align), upTo(sum, align)];
  }
  return answer.map(String);
}

function upTo(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
