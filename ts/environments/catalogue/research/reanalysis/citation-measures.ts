/** citation-measures: coupling of papers by common sources, their co-citation, and authors' h-index without self-citations. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  authors: string[];
  /** In order of time; a paper cites earlier ones. */
  papers: { by: number[]; cites: number[] }[];
}

const NAMES = ["Adler", "Brandt", "Costa", "Dahl", "Egger", "Fabre"];
/** By level: papers, authors, most citations of a paper. */
const SIZES = [
  [7, 3, 4],
  [10, 3, 5],
  [14, 4, 6],
  [19, 5, 7],
  [26, 6, 8],
] as const;

export const citationMeasures = fieldRow<Given>({
  id: "citation-measures",
  asks: "h-indices without self-citations and the most strongly coupled and co-cited papers of a body of literature",
  draw,
  solve,
  values: ({ authors }) =>
    `${authors.join(", ")} are the h-indices, coupled is the pair of papers that cite the largest number of common papers, and cocited the pair that is cited together by the largest number of papers, both as P1-P2`,
  wordings: [
    (one) => `${paperList(one)}\n\n${RULE} Compute the measures.`,
    (one) => `${RULE}\n\nReferences, in order of publication:\n${paperList(one)}\n\nAnalyse this literature.`,
    (one) => `A library measures a small field.\n${paperList(one)}\n${RULE} What are the figures?`,
    (one) => `Bibliometrics. ${RULE}\nPapers with their authors and citations:\n${paperList(one)}`,
  ],
});

const RULE =
  "The h-index of an author is the largest h for which h of the author's papers have at least h citations each. Citations by papers that share any author with the cited paper do not count for it, but they count for the pairs.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, authorCount, most] = at(SIZES, level - 1);
  const authors = NAMES.slice(0, authorCount);
  const papers = range(count).map((paper) => ({
    by: sample(range(authorCount), 1 + rng.integer(2), rng).toSorted((a, b) => a - b),
    cites: sample(range(paper), 1 + rng.integer(most), rng).toSorted((a, b) => a - b),
  }));
  return { authors, papers };
}

function hOf(counts: readonly number[]): number {
  const order = counts.toSorted((a, b) => b - a);
  return order.filter((count, place) => count > place).length;
}

function solve({ authors, papers }: Given): Solution | null {
  const citers = papers.map((_, cited) =>
    range(papers.length).filter((paper) => at(papers, paper).cites.includes(cited)),
  );
  const isSelf = (a: number, b: number): boolean =>
    at(papers, a).by.some((author) => at(papers, b).by.includes(author));
  const own = (author: number): number[] =>
    range(papers.length).filter((paper) => at(papers, paper).by.includes(author));
  const indices = (counts: readonly number[]): string[] =>
    authors.map((_, author) => String(hOf(own(author).map((paper) => at(counts, paper)))));
  const clean = indices(citers.map((list, paper) => list.filter((citer) => !isSelf(citer, paper)).length));
  const plain = indices(citers.map((list) => list.length));
  const best = (lists: readonly (readonly number[])[]): string | null => {
    const pairs = range(lists.length).flatMap((b) =>
      range(b).map((a) => ({
        text: `P${a + 1}-P${b + 1}`,
        common: at(lists, a).filter((one) => at(lists, b).includes(one)).length,
      })),
    );
    const order = pairs.toSorted((a, b) => b.common - a.common);
    return order[0] === undefined || order[0].common === order[1]?.common ? null : order[0].text;
  };
  const coupled = best(papers.map(({ cites }) => cites));
  const cocited = best(citers);
  if (coupled === null || cocited === null || coupled === cocited || plain.join() === clean.join()) return null;
  const options = papers.map((_, paper) => `P${paper + 1}`);
  return {
    fields: [
      ...authors.map((name, author) => ({ name, kind: "number" as const, value: at(clean, author) })),
      { name: "coupled", kind: "pairs", value: marked([coupled]), options },
      { name: "cocited", kind: "pairs", value: marked([cocited]), options },
    ],
    slips: [
      [...plain, coupled, cocited],
      [...clean, cocited, coupled],
    ],
    steps: papers.length ** 2,
  };
}

function paperList({ authors, papers: list }: Given): string {
  return list
    .map(({ by, cites }, paper) => {
      const cited = cites.length === 0 ? "cites nothing" : `cites ${cites.map((one) => `P${one + 1}`).join(", ")}`;
      return `P${paper + 1} (${by.map((author) => at(authors, author)).join(", ")}) ${cited}.`;
    })
    .join("\n");
}
