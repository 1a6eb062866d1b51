/** degree-list-verdict: a graph with given degrees, or the inequality that forbids one; either is checked. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";

interface Problem {
  /** In descending order. */
  degrees: number[];
}

/** By level: vertices, least and greatest degree. */
const SIZES = [
  [5, 1, 4],
  [8, 1, 7],
  [10, 1, 9],
  [12, 1, 11],
  [15, 1, 13],
] as const;

export const degreeListVerdict = certificateRow<Problem>({
  id: "degree-list-verdict",
  asks: "a graph with given degrees, or the inequality that proves that there is none",
  draw(rng, level) {
    const [vertices, least, most] = at(SIZES, level - 1);
    const wanted = rng.integer(2) === 0;
    const degrees = range(vertices)
      .map(() => between(rng, least, most))
      .toSorted((a, b) => b - a);
    if (sumOf(degrees) % 2 === 1) return null;
    const edges = realised(degrees);
    if (wanted !== (edges !== null)) return null;
    const broken = range(vertices).find((index) => isBroken(degrees, index + 1));
    if (edges === null && broken === undefined) return null;
    const certificate =
      edges === null
        ? violation(degrees, (broken ?? 0) + 1)
        : `edges: ${edges.map(([a, b]) => `${a + 1}-${b + 1}`).join(" ")}`;
    return { problem: { degrees }, certificate, steps: vertices * (sumOf(degrees) / 2 + vertices) };
  },
  proves({ degrees }, answer) {
    const [, kind = "", list = ""] = /^(edges|broken)\s*[:=]\s*([-\d,\s]+)$/iu.exec(answer.trim()) ?? [];
    if (kind.toLowerCase() === "broken") {
      const [k = 0, left, right] = list.split(",").map((part) => (/^\s*\d{1,4}\s*$/u.test(part) ? Number(part) : -1));
      if (list.split(",").length !== 3 || k < 1 || k > degrees.length) return false;
      return isBroken(degrees, k) && left === leftSide(degrees, k) && right === rightSide(degrees, k);
    }
    const pairs = list.trim().split(/[\s,]+/u);
    if (kind === "" || pairs.length > degrees.length ** 2) return false;
    const edges = pairs.map((pair) => /^(\d{1,3})-(\d{1,3})$/u.exec(pair)?.slice(1).map(Number) ?? []);
    const keys = edges.map(([a = 0, b = 0]) => (a < b ? `${a}-${b}` : `${b}-${a}`));
    if (new Set(keys).size < keys.length) return false;
    if (edges.some(([a = 0, b = 0]) => a === b || a < 1 || b < 1 || a > degrees.length || b > degrees.length))
      return false;
    return degrees.every((degree, index) => edges.flat().filter((vertex) => vertex === index + 1).length === degree);
  },
  prompts: [
    (one) =>
      `Is there a simple graph on the vertices 1 to ${one.degrees.length} whose degrees, in this order, are ${one.degrees.join(", ")}? Show one, or a k for which the Erdős-Gallai inequality d_1 + ... + d_k <= k(k-1) + sum over i > k of min(d_i, k) fails. ${FORMAT}`,
    (one) =>
      `${one.degrees.length} people report with how many of the others they shook hands: ${one.degrees.join(", ")} (person 1 first). Find handshakes that fit, no pair twice. If none fit, prove it: the first k numbers may add up to k(k-1) plus the sum of min(d_i, k) over the others at most; name a k where they exceed that. ${FORMAT}`,
    (one) =>
      `Decide whether the sequence ${one.degrees.join(", ")} is graphic. A yes needs the edges of a simple graph in which vertex i has the i-th degree; a no needs a number k with left > right, where left = d_1 + ... + d_k and right = k(k-1) + sum of min(d_i, k) for i = k+1, ..., ${one.degrees.length}. ${FORMAT}`,
    (one) =>
      `${FORMAT} The first form is a simple graph with degrees ${one.degrees.join(", ")} for its vertices 1, 2, ..., ${one.degrees.length}; the second a violated condition of Erdős and Gallai (left: the sum of the k first degrees; right: k(k-1) plus, over the other vertices, the sum of the smaller of degree and k). Only one of them is possible.`,
  ],
  slips({ degrees }, certificate) {
    const [head = "", list = ""] = certificate.split(": ");
    const pairs = list.split(" ");
    const other =
      head === "edges"
        ? violation(degrees, 1)
        : `edges: ${degrees.map((_, index) => `${index + 1}-${index + 2}`).join(" ")}`;
    const k = Math.ceil(degrees.length / 2);
    return [
      other,
      head === "edges" ? `edges: ${pairs.slice(1).join(" ")}` : `broken: ${list.split(", ").toReversed().join(", ")}`,
      head === "edges" ? `edges: ${[...pairs, at(pairs, 0)].join(" ")}` : `broken: ${list.split(", ")[0]}, 1, 0`,
      `broken: ${k}, ${leftSide(degrees, k)}, ${leftSide(degrees, k) - 1}`,
      list,
    ];
  },
  variants: (_, certificate) => [certificate.replace(": ", " = "), certificate.replaceAll(/(\d+)-(\d+)/gu, "$2-$1")],
});

const FORMAT =
  'Write "edges: " and pairs such as 1-2 with spaces between; or "broken: k, left, right" with the number k and both sides of its inequality.';

function sumOf(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

function leftSide(degrees: readonly number[], k: number): number {
  return sumOf(degrees.slice(0, k));
}

function rightSide(degrees: readonly number[], k: number): number {
  return k * (k - 1) + sumOf(degrees.slice(k).map((degree) => Math.min(degree, k)));
}

function isBroken(degrees: readonly number[], k: number): boolean {
  return leftSide(degrees, k) > rightSide(degrees, k);
}

function violation(degrees: readonly number[], k: number): string {
  return `broken: ${k}, ${leftSide(degrees, k)}, ${rightSide(degrees, k)}`;
}

/** By Havel and Hakimi: the vertex with most missing edges is joined to the next ones. */
function realised(degrees: readonly number[]): [number, number][] | null {
  const missing = degrees.map((degree, vertex) => ({ degree, vertex }));
  const edges: [number, number][] = [];
  for (;;) {
    missing.sort((a, b) => b.degree - a.degree);
    const [first, ...rest] = missing;
    if (first === undefined || first.degree === 0) return edges;
    if (rest.length < first.degree || at(rest, first.degree - 1).degree === 0) return null;
    for (const other of rest.slice(0, first.degree)) {
      other.degree -= 1;
      edges.push([first.vertex, other.vertex]);
    }
    first.degree = 0;
  }
}
