/** cited-claims-answer: differences between people that follow from several sentences, with exactly the sentences that prove them. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { corpus } from "../documents.ts";

interface Given {
  people: string[];
  births: number[];
  /** Two people whom a sentence compares; the sentences make a forest. */
  links: [number, number][];
  asked: [number, number];
}

/** By level: people, sentences between those who are asked about. */
const SIZES = [
  [5, 2],
  [8, 3],
  [12, 4],
  [18, 5],
  [28, 7],
] as const;

export const citedClaimsAnswer = fieldRow<Given>({
  id: "cited-claims-answer",
  asks: "by how many years two people differ, with exactly the sentences that prove it",
  draw,
  solve,
  values: () =>
    "years is an integer, negative where the second person was born first, and cites lists the marks of all documents that are needed and of no others, separated by commas",
  wordings: [
    (one, rng) =>
      `${shown(one, rng)}\n\nHow many years after ${first(one)} was ${second(one)} born? Cite the documents from which this follows.`,
    (one, rng) =>
      `Question: by how many years is ${second(one)} younger than ${first(one)}? A proof must be cited, without any superfluous document.\n\n${shown(one, rng)}`,
    (one, rng) =>
      `From these scraps\n${shown(one, rng)}\nderive the difference between the years of birth of ${first(one)} and of ${second(one)} (second minus first), and list the scraps that are needed for it.`,
    (one, rng) =>
      `An examiner wants each figure proved. Find the year of birth of ${second(one)} minus that of ${first(one)}, and cite just the documents that the proof uses.\n${shown(one, rng)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, hops] = at(SIZES, level - 1);
  const order = shuffled(range(count), rng);
  const path = order.slice(0, hops + 1);
  const links = range(hops).map((step): [number, number] => [at(path, step), at(path, step + 1)]);
  // Everybody else hangs at somebody who stands before, so that ways stay unique.
  for (let place = hops + 1; place < count; place++)
    if (rng.integer(6) > 0) links.push([at(order, place), at(order, rng.integer(place))]);
  const births = range(count).map(() => between(rng, 1700, 1790));
  if (links.some(([a, b]) => at(births, a) === at(births, b))) return null;
  return {
    people: distinct(count, () => name(rng)),
    births,
    links: shuffled(
      links.map((link): [number, number] => (rng.integer(2) === 0 ? link : [link[1], link[0]])),
      rng,
    ),
    asked: [at(path, 0), at(path, hops)],
  };
}

function solve({ births, links, asked: [from, to] }: Given): Solution | null {
  const way = wayBetween(links, from, to);
  if (way === null) return null;
  const marks = marksOf("D", links.length);
  const cites = marked(marks.filter((_, index) => way.includes(index)));
  const years = at(births, to) - at(births, from);
  const mention = range(links.length).filter((index) =>
    at(links, index).some((person) => person === from || person === to),
  );
  const size = way.reduce(
    (sum, index) => sum + Math.abs(at(births, at(links, index)[0]) - at(births, at(links, index)[1])),
    0,
  );
  const direct = marked(marks.filter((_, index) => mention.includes(index)));
  const slips = [
    [String(-years), cites],
    [String(size), cites],
    [String(years), direct],
    [String(years), marked(marks)],
  ];
  return years === 0
    ? null
    : {
        fields: [
          { name: "years", kind: "number", value: String(years) },
          { name: "cites", kind: "set", value: cites, options: marks },
        ],
        slips: slips.filter((slip) => slip.join(";") !== `${years};${cites}`),
        steps: way.length * 3 + links.length,
      };
}

/** Places of the links of the only way; null without one. */
function wayBetween(links: Given["links"], from: number, to: number): number[] | null {
  const before = new Map<number, { person: number; link: number } | null>([[from, null]]);
  for (const [person] of before)
    for (const [link, [a, b]] of links.entries()) {
      const other = a === person ? b : b === person ? a : null;
      if (other !== null && !before.has(other)) before.set(other, { person, link });
    }
  const way: number[] = [];
  for (let step = before.get(to); step !== null; step = before.get(step.person)) {
    if (step === undefined) return null;
    way.push(step.link);
  }
  return way;
}

function shown({ people, births, links }: Given, rng: Rng): string {
  const texts = links.map(([a, b]) => {
    const gap = at(births, b) - at(births, a);
    const [young, old] = gap > 0 ? [b, a] : [a, b];
    const years = `${Math.abs(gap)} ${Math.abs(gap) === 1 ? "year" : "years"}`;
    return rng.pick([
      `${at(people, young)} came into the world ${years} after ${at(people, old)}.`,
      `When ${at(people, young)} was born, ${at(people, old)} turned ${Math.abs(gap)} in the same year.`,
      `${at(people, old)} is older than ${at(people, young)}, by ${years}.`,
      `The year in which ${at(people, old)} was born lies ${years} before that of ${at(people, young)}.`,
    ]);
  });
  return corpus(texts, rng);
}

function first({ people, asked }: Given): string {
  return at(people, asked[0]);
}

function second({ people, asked }: Given): string {
  return at(people, asked[1]);
}
