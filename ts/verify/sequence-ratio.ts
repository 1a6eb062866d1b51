/**
 * Ratcliff-Obershelp similarity ("gestalt pattern matching", Dr. Dobb's Journal, July 1988) exactly as Python's
 * `difflib.SequenceMatcher(None, a, b).ratio()` computes it, autojunk included.
 *
 * Elements are Unicode code points, as in a Python string. The measure is not symmetric: ties go to the earliest match
 * in `a`, then in `b`, and only `b` is searched for popular elements. Quadratic in the worst case, as the original is.
 */

/** From this length of `b` on, elements that make up too much of it start no match (`autojunk`). */
const AUTOJUNK_MIN_LENGTH = 200;

/** Elements of `b` that occur more often than `floor(n / 100) + 1` times are popular. */
const POPULAR_DIVISOR = 100;

interface Range {
  aLow: number;
  aHigh: number;
  bLow: number;
  bHigh: number;
}

interface Match {
  aStart: number;
  bStart: number;
  length: number;
}

/** `2 M / (|a| + |b|)`, M the number of matched code points; 1 for two empty texts. In [0, 1]. */
export function sequenceRatio(a: string, b: string): number {
  const left = codePoints(a);
  const right = codePoints(b);
  const total = left.length + right.length;
  return total === 0 ? 1 : (2 * matchedElements(left, right)) / total;
}

/** Two texts, and what the search in them uses again and again. */
interface Pair {
  readonly a: Uint32Array;
  readonly b: Uint32Array;
  /** Ascending positions in `b` of each element that may start a match. */
  readonly positions: ReadonlyMap<number, readonly number[]>;
  /** Two rows over `b` (index j + 1), all zero between two searches. */
  readonly previous: Int32Array;
  readonly current: Int32Array;
}

function matchedElements(a: Uint32Array, b: Uint32Array): number {
  const rows = { previous: new Int32Array(b.length + 1), current: new Int32Array(b.length + 1) };
  const pair: Pair = { a, b, positions: matchStarts(b), ...rows };
  const open: Range[] = [{ aLow: 0, aHigh: a.length, bLow: 0, bHigh: b.length }];
  let matched = 0;
  for (let range = open.pop(); range !== undefined; range = open.pop()) {
    const match = longestMatch(pair, range);
    if (match.length === 0) continue;
    matched += match.length;
    const aEnd = match.aStart + match.length;
    const bEnd = match.bStart + match.length;
    if (range.aLow < match.aStart && range.bLow < match.bStart) {
      open.push({ aLow: range.aLow, aHigh: match.aStart, bLow: range.bLow, bHigh: match.bStart });
    }
    if (aEnd < range.aHigh && bEnd < range.bHigh) {
      open.push({ aLow: aEnd, aHigh: range.aHigh, bLow: bEnd, bHigh: range.bHigh });
    }
  }
  return matched;
}

/** Ascending positions in `b` of each element that may start a match. */
function matchStarts(b: Uint32Array): Map<number, number[]> {
  const positions = new Map<number, number[]>();
  b.forEach((element, index) => {
    const known = positions.get(element);
    if (known === undefined) positions.set(element, [index]);
    else known.push(index);
  });
  if (b.length >= AUTOJUNK_MIN_LENGTH) {
    const limit = Math.floor(b.length / POPULAR_DIVISOR) + 1;
    for (const [element, found] of positions) if (found.length > limit) positions.delete(element);
  }
  return positions;
}

/**
 * The longest block of the range that is equal in both, found from elements in `positions` and then extended at both
 * ends by any equal elements, popular ones included.
 */
function longestMatch(pair: Pair, { aLow, aHigh, bLow, bHigh }: Range): Match {
  const { a, b, positions } = pair;
  let aStart = aLow;
  let bStart = bLow;
  let length = 0;
  let { previous, current } = pair;
  for (let i = aLow; i < aHigh; i += 1) {
    for (const j of positions.get(at(a, i)) ?? []) {
      if (j < bLow) continue;
      if (j >= bHigh) break;
      const run = at(previous, j) + 1;
      current[j + 1] = run;
      if (run > length) {
        aStart = i - run + 1;
        bStart = j - run + 1;
        length = run;
      }
    }
    [previous, current] = [current, previous];
    current.fill(0, bLow, bHigh + 1);
  }
  previous.fill(0, bLow, bHigh + 1);

  while (aStart > aLow && bStart > bLow && a[aStart - 1] === b[bStart - 1]) {
    aStart -= 1;
    bStart -= 1;
    length += 1;
  }
  while (aStart + length < aHigh && bStart + length < bHigh && a[aStart + length] === b[bStart + length]) {
    length += 1;
  }
  return { aStart, bStart, length };
}

/** A lone surrogate is a separate element, as in a Python string. */
function codePoints(text: string): Uint32Array {
  const points = new Uint32Array(text.length);
  let count = 0;
  for (const character of text) {
    points[count] = character.codePointAt(0) ?? 0;
    count += 1;
  }
  return points.subarray(0, count);
}

function at(values: Uint32Array | Int32Array, index: number): number {
  return values[index] ?? 0;
}
