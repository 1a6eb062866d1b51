/** acknowledgement-trace: the acknowledgements of a receiver of segments that arrive out of order, repeat and overlap. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface SegmentProblem {
  /** Sequence number of the first byte. */
  start: number;
  segments: { sequence: number; length: number }[];
}

/** By level: segments, and whether sequence numbers may wrap around. */
const SIZES = [
  [5, false],
  [7, false],
  [9, true],
  [12, true],
  [16, true],
] as const;
const WORD = 2 ** 32;

export const acknowledgementTrace = itemRow<SegmentProblem>({
  id: "acknowledgement-trace",
  asks: "the acknowledgement numbers and buffered ranges of a TCP receiver under loss, reordering and wrap-around",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `A receiver expects the byte with sequence number ${one.start} next. These segments arrive:\n${text(one)}\n\n${RULES} After every segment write one line: the acknowledgement number, then the ranges that are buffered beyond it, as from-to, in order.`,
    (one) =>
      `${RULES}\n\nNext expected sequence number: ${one.start}. Arrivals:\n${text(one)}\n\nGive the ${one.segments.length} acknowledgements, a line for each arrival: the cumulative number, and after a space each the selective ranges from-to, nearest first.`,
    (one) =>
      `What does the other side acknowledge? It has received everything before ${one.start}, and now gets, one after the other,\n${text(one)}\n\n${RULES} One line per segment: number, then any ranges (from-to), separated by spaces.`,
    (one) =>
      `Arriving data of a stream (first missing byte: ${one.start}):\n${text(one)}\n\nReply after each with "ack" information in the form "number" or "number from-to from-to ...". ${RULES} Lines in the order of arrival, without any other word.`,
  ],
});

const RULES =
  "The receiver keeps every byte that arrives. It acknowledges the first byte that it does not have yet, and reports each maximal run of bytes beyond that one which it has, by the number of its first byte and the number after its last byte. Sequence numbers are taken modulo 4294967296.";

function text({ segments }: SegmentProblem): string {
  return segments.map(({ sequence, length }) => `seq ${sequence}, ${length} bytes`).join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, wraps] = at(SIZES, level - 1);
  const start = wraps && rng.integer(2) === 0 ? WORD - between(rng, 300, 2500) : between(rng, 1000, 4_000_000_000);
  const sizes = range(count).map(() => between(rng, 1, 14) * 50 + rng.integer(3));
  const offsets = sizes.map((_, index) => sizes.slice(0, index).reduce((a, b) => a + b, 0));
  // Some arrive twice, some again with other borders, and one is lost for a long time.
  const order = shuffled(range(count), rng).map((index) => {
    const [offset, length] = [at(offsets, index), at(sizes, index)];
    if (index > 0 && rng.integer(4) === 0) return { offset: offset - between(rng, 1, 40), length: length + 20 };
    return { offset, length };
  });
  if (rng.integer(2) === 0) order.splice(rng.integer(count), 0, at(order, rng.integer(count)));
  const segments = order
    .slice(0, count)
    .map(({ offset, length }) => ({ sequence: (start + Math.max(0, offset)) % WORD, length }));
  const { items, ranges } = acknowledge(start, segments, true);
  if (ranges < count || new Set(items.map((item) => item.split(" ")[0])).size < 3) return null;
  const misses = [
    acknowledge(start, segments, false).items,
    segments.map(({ sequence, length }) => String((sequence + length) % WORD)),
    items.map((item) => item.split(" ")[0] ?? ""),
  ];
  return { problem: { start, segments }, items, misses, effort: count * 2 + ranges };
}

function acknowledge(start: number, segments: SegmentProblem["segments"], joins: boolean) {
  let held: [from: number, to: number][] = [[0, 0]];
  let ranges = 0;
  const items = segments.map(({ sequence, length }) => {
    const from = (sequence - start + WORD) % WORD;
    const near = from > WORD / 2 ? from - WORD : from;
    const sorted = [...held, [near, near + length] as [number, number]].toSorted((a, b) => a[0] - b[0]);
    held = [];
    for (const [low, high] of sorted) {
      const last = held.at(-1);
      if (last !== undefined && low <= last[1] && (joins || last[0] <= 0)) last[1] = Math.max(last[1], high);
      else held.push([low, high]);
    }
    const numbers = held.map(([low, high]) => [(start + low + WORD) % WORD, (start + high) % WORD] as const);
    ranges += held.length;
    return [String(numbers[0]?.[1]), ...numbers.slice(1).map(([low, high]) => `${low}-${high}`)].join(" ");
  });
  return { items, ranges };
}
