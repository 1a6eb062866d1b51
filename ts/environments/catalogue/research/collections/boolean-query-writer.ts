/** boolean-query-writer: a query with few terms that finds exactly the relevant ones among documents. Any such query counts. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { numbered } from "../documents.ts";

type Query =
  | { kind: "term"; term: string }
  | { kind: "not"; part: Query }
  | { kind: "and" | "or"; left: Query; right: Query };

interface Instance {
  /** Words of each document. */
  documents: string[][];
  relevant: number[];
  /** Most terms of a query, and one that is right. */
  most: number;
  gold: string;
  /** Queries that were tried to see that fewer terms do not do. */
  tried: number;
}

/** By level: documents, different words, words of a document, terms. */
const SIZES = [
  [6, 6, 3, 2],
  [8, 8, 4, 2],
  [10, 9, 4, 3],
  [14, 11, 5, 3],
  [20, 12, 6, 4],
] as const;
const MOST_TOKENS = 60;

export const booleanQueryWriter = defineRow<Instance>({
  id: "boolean-query-writer",
  asks: "a boolean query with few terms that retrieves exactly the relevant documents",
  place: "answer",
  make,
  effort: ({ tried }) => tried,
  canonical: ({ documents, relevant }) => [documents, relevant],
  prompts: [
    (one) =>
      `Documents, as lists of their words:\n${shown(one)}\n\nWrite a query that retrieves ${wanted(one)} and no others. ${rules(one)}`,
    (one) => `${rules(one)} The query has to find ${wanted(one)}, all of them and nothing else.\n\n${shown(one)}`,
    (one) =>
      `A librarian needs a search expression for ${wanted(one)} of the collection below; every other document must stay out.\n${shown(one)}\n${rules(one)}`,
    (one) =>
      `Collection:\n${shown(one)}\n\nRelevant: ${wanted(one)}. Irrelevant: the rest. ${rules(one)} Which expression separates them?`,
  ],
  gold: ({ gold }) => gold,
  nearMisses: missesOf,
  variants: ({ gold }) => [gold.toLowerCase(), `(${gold})`],
  score: ({ documents, relevant, most }, answer) => {
    const query = parsed(answer);
    if (query === null || termsOf(query) > most) return 0;
    const found = range(documents.length).filter((index) => matches(query, at(documents, index)));
    return found.join() === relevant.join() ? 1 : 0;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, wordCount, length, terms] = at(SIZES, level - 1);
  const words = distinct(wordCount, () => word(rng));
  const documents = range(count).map(() => sample(words, between(rng, length - 1, length + 1), rng));
  if (new Set(documents.map((one) => one.toSorted().join())).size < count) return null;
  const leaves = shuffled(words, rng)
    .slice(0, terms)
    .map((term): Query => {
      const leaf: Query = { kind: "term", term };
      return rng.integer(3) === 0 ? { kind: "not", part: leaf } : leaf;
    });
  const hidden = leaves.slice(1).reduce<Query>(
    (left, right) => {
      const kind = rng.pick(["and", "or"] as const);
      return rng.integer(2) === 0 ? { kind, left, right } : { kind, left: right, right: left };
    },
    at(leaves, 0),
  );
  const relevant = range(count).filter((index) => matches(hidden, at(documents, index)));
  if (relevant.length < 2 || relevant.length > count - 2) return null;
  // One term less must not do. A set of documents is a number with a bit for each.
  const bits = (isIn: (index: number) => boolean): number =>
    range(count).reduce((sum, index) => sum + (isIn(index) ? 2 ** index : 0), 0);
  const target = bits((index) => relevant.includes(index));
  const own = words.map((term) => bits((index) => at(documents, index).includes(term)));
  const single = [...new Set([...own, ...own.map((found) => 2 ** count - 1 - found)])];
  let [simple, tried] = [new Set(single), single.length];
  for (let size = 1; size < terms; size++) {
    if (simple.has(target)) return null;
    if (size === terms - 1) break;
    const next = new Set<number>();
    for (const a of simple) for (const b of single) next.add(a & b).add(a | b);
    tried += 2 * simple.size * single.length;
    simple = next;
  }
  return { documents, relevant, most: terms, gold: written(hidden), tried: tried * count };
}

function matches(query: Query, document: readonly string[]): boolean {
  switch (query.kind) {
    case "term":
      return document.includes(query.term);
    case "not":
      return !matches(query.part, document);
    case "and":
      return matches(query.left, document) && matches(query.right, document);
    case "or":
      return matches(query.left, document) || matches(query.right, document);
  }
}

function termsOf(query: Query): number {
  if (query.kind === "term") return 1;
  return query.kind === "not" ? termsOf(query.part) : termsOf(query.left) + termsOf(query.right);
}

function written(query: Query): string {
  if (query.kind === "term") return query.term;
  const inner = (part: Query): string =>
    part.kind === "and" || part.kind === "or" ? `(${written(part)})` : written(part);
  if (query.kind === "not") return `NOT ${inner(query.part)}`;
  return `${inner(query.left)} ${query.kind.toUpperCase()} ${inner(query.right)}`;
}

/** NOT binds tighter than AND, AND tighter than OR. Null for what is no query. */
function parsed(text: string): Query | null {
  const tokens = text.toLowerCase().match(/\(|\)|[a-z]+|[^\s]/gu) ?? [];
  if (tokens.length === 0 || tokens.length > MOST_TOKENS) return null;
  let place = 0;
  const level = (kind: "and" | "or", part: () => Query | null): Query | null => {
    let left = part();
    while (left !== null && tokens[place] === kind) {
      place += 1;
      const right = part();
      left = right === null ? null : { kind, left, right };
    }
    return left;
  };
  const unary = (): Query | null => {
    const token = tokens[place++] ?? "";
    if (token === "not") {
      const part = unary();
      return part === null ? null : { kind: "not", part };
    }
    if (token === "(") {
      const inner = disjunction();
      return inner !== null && tokens[place++] === ")" ? inner : null;
    }
    return /^[a-z]+$/u.test(token) && token !== "and" && token !== "or" ? { kind: "term", term: token } : null;
  };
  const disjunction = (): Query | null => level("or", () => level("and", unary));
  const query = disjunction();
  return place === tokens.length ? query : null;
}

function missesOf({ gold, documents, relevant }: Instance, rng: Rng): string[] {
  const query = parsed(gold);
  if (query === null) return [];
  const words = [...new Set(documents.flat())];
  const wrong = [`NOT (${gold})`, ...sample(words, 3, rng), `${at(words, 0)} OR NOT ${at(words, 0)}`].filter((text) => {
    const other = parsed(text);
    return (
      other === null ||
      range(documents.length).some((index) => matches(other, at(documents, index)) !== relevant.includes(index))
    );
  });
  return [
    ...wrong,
    words.slice(0, 5).join(" OR "),
    relevant.map((index) => `(${at(documents, index).join(" AND ")})`).join(" OR "),
  ];
}

function shown({ documents }: Instance): string {
  return numbered(
    documents.map((words) => words.join(" ")),
    "D",
  );
}

function wanted({ relevant }: Instance): string {
  return relevant.map((index) => `D${index + 1}`).join(", ");
}

function rules({ most }: Instance): string {
  return `A query is made of words of the documents with AND, OR, NOT and brackets; a word holds for a document that contains it. NOT binds tightest, then AND, then OR. At most ${most} words may stand in it, each occurrence counted. The answer is the query alone; any right one counts.`;
}
