/** stable-partners: with whom each applicant is matched in any of the stable matchings. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** `applicants[a]`: posts from the best on; `posts[p]`: applicants from the best on. */
  applicants: number[][];
  posts: number[][];
}

/** By level: applicants, least number of stable matchings. */
const SIZES = [
  [3, 2],
  [4, 2],
  [5, 3],
  [6, 3],
  [7, 4],
] as const;

export const stablePartners = fieldRow<Given>({
  id: "stable-partners",
  asks: "the posts that each applicant gets in any stable matching",
  draw,
  solve,
  values: () => "each value lists all posts that this applicant gets in at least one stable matching, such as P1, P3",
  wordings: [
    (one) => `${lists(one)}\n\n${RULE} There are several stable matchings. Find the possible posts of each applicant.`,
    (one) =>
      `${RULE}\n\nPreferences:\n${lists(one)}\n\nGo through all stable matchings and collect, for each applicant, the posts that occur.`,
    (one) =>
      `A hospital fills its posts; everybody ranks the other side, best first.\n${lists(one)}\n${RULE} For which posts can each applicant hope, if only stability is certain?`,
    (one) =>
      `Every matching of these applicants and posts that no pair wants to leave is possible. ${RULE}\nThe orders of preference are\n${lists(one)}\nDetermine all partners that stability leaves open.`,
  ],
});

const RULE =
  "A matching gives every applicant another post. It is stable when no applicant and post prefer each other to what they have.";

function draw(rng: Rng, level: Level): Given | null {
  const [count] = at(SIZES, level - 1);
  const applicants = range(count).map(() => shuffled(range(count), rng));
  // Posts that like those who like them least give many stable matchings.
  const posts = range(count).map((post) =>
    range(count)
      .map((applicant) => ({
        applicant,
        rank: at(applicants, applicant).indexOf(post) + 0.9 * rng.integer(3) + rng.next(),
      }))
      .toSorted((a, b) => b.rank - a.rank)
      .map(({ applicant }) => applicant),
  );
  return { applicants, posts };
}

function solve({ applicants, posts }: Given): Solution | null {
  const count = applicants.length;
  const found: number[][] = [];
  let steps = 0;
  const isBlocked = (held: readonly number[], a: number, b: number): boolean => {
    const [own, other] = [at(held, a), at(held, b)];
    const [wishes, choice] = [at(applicants, a), at(posts, other)];
    return wishes.indexOf(other) < wishes.indexOf(own) && choice.indexOf(a) < choice.indexOf(b);
  };
  const extend = (held: readonly number[]): void => {
    steps += 1;
    const last = held.length - 1;
    if (range(Math.max(0, last)).some((other) => isBlocked(held, last, other) || isBlocked(held, other, last))) return;
    if (held.length === count) {
      found.push([...held]);
      return;
    }
    for (const post of range(count)) if (!held.includes(post)) extend([...held, post]);
  };
  extend([]);
  const least = SIZES.find(([size]) => size === count)?.[1] ?? 2;
  if (found.length < least) return null;
  const marks = marksOf("P", count);
  const named = (matchings: readonly number[][]): string[] =>
    range(count).map((applicant) => {
      const own = new Set(matchings.map((held) => at(held, applicant)));
      return marked(marks.filter((_, post) => own.has(post)));
    });
  return {
    fields: named(found).map((value, applicant) => ({ name: `A${applicant + 1}`, kind: "set", value, options: marks })),
    slips: [named(found.slice(0, 1)), named(found.slice(1)), applicants.map((list) => at(marks, at(list, 0)))],
    steps,
  };
}

function lists({ applicants, posts }: Given): string {
  return [
    ...applicants.map((list, one) => `A${one + 1}: ${list.map((post) => `P${post + 1}`).join(" ")}`),
    ...posts.map((list, one) => `P${one + 1}: ${list.map((applicant) => `A${applicant + 1}`).join(" ")}`),
  ].join("\n");
}
