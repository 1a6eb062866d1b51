/** relation-chain-question: a question of several steps, each of which another document answers; former facts lead elsewhere. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { corpus, sentence } from "../documents.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";

type Kind = "person" | "firm" | "town" | "ship";
type Phrase = (from: string, to: string) => string;

interface Relation {
  readonly from: Kind;
  readonly to: Kind;
  readonly asked: (inner: string) => string;
  readonly now: readonly Phrase[];
  readonly past: readonly Phrase[];
}

interface Fact {
  relation: number;
  from: string;
  to: string;
  /** It held once and holds no more. */
  isPast: boolean;
}

interface Given {
  documents: Fact[][];
  start: string;
  path: number[];
}

const RELATIONS: readonly Relation[] = [
  {
    from: "person",
    to: "firm",
    asked: (x) => `the firm that employs ${x}`,
    now: [
      (a, b) => `${a} works for ${b}`,
      (a, b) => `${b} pays ${a} a monthly wage`,
      (a, b) => `among the staff of ${b} is ${a}`,
    ],
    past: [(a, b) => `${b} dismissed ${a} years ago`, (a, b) => `${a} once worked for ${b} but left in anger`],
  },
  {
    from: "person",
    to: "person",
    asked: (x) => `the teacher of ${x}`,
    now: [
      (a, b) => `${a} takes lessons from ${b}`,
      (a, b) => `${b} teaches ${a} on Thursdays`,
      (a, b) => `for ${a} there is no teacher but ${b}`,
    ],
    past: [(a, b) => `${a} left the lessons of ${b} for another teacher`, (a, b) => `${b} no longer teaches ${a}`],
  },
  {
    from: "person",
    to: "ship",
    asked: (x) => `the ship that ${x} commands`,
    now: [
      (a, b) => `${a} is captain of the ${b}`,
      (a, b) => `the ${b} sails under ${a}`,
      (a, b) => `command of the ${b} lies with ${a}`,
    ],
    past: [(a, b) => `${a} gave up the command of the ${b}`, (a, b) => `the ${b} used to sail under ${a}`],
  },
  {
    from: "firm",
    to: "town",
    asked: (x) => `the town in which ${x} has its head office`,
    now: [
      (a, b) => `the head office of ${a} is in ${b}`,
      (a, b) => `${a} is run from ${b}`,
      (a, b) => `in ${b} stands the head office of ${a}`,
    ],
    past: [(a, b) => `${a} moved its head office away from ${b}`, (a, b) => `${b} lost the head office of ${a}`],
  },
  {
    from: "firm",
    to: "person",
    asked: (x) => `the director of ${x}`,
    now: [
      (a, b) => `${a} has ${b} as its director`,
      (a, b) => `${b} directs ${a}`,
      (a, b) => `the director's chair of ${a} is taken by ${b}`,
    ],
    past: [(a, b) => `${b} resigned as director of ${a}`, (a, b) => `${a} was directed by ${b} before the crisis`],
  },
  {
    from: "town",
    to: "person",
    asked: (x) => `the mayor of ${x}`,
    now: [
      (a, b) => `${b} is mayor of ${a}`,
      (a, b) => `${a} has elected ${b} as its mayor for this term`,
      (a, b) => `the town hall of ${a} is governed by ${b}`,
    ],
    past: [(a, b) => `${b} was mayor of ${a} until the last election`, (a, b) => `${a} voted its mayor ${b} out`],
  },
  {
    from: "ship",
    to: "firm",
    asked: (x) => `the owner of the ship ${x}`,
    now: [
      (a, b) => `the ${a} belongs to ${b}`,
      (a, b) => `${b} owns the ${a}`,
      (a, b) => `in the register ${b} stands as owner of the ${a}`,
    ],
    past: [(a, b) => `${b} has sold the ${a}`, (a, b) => `the ${a} belonged to ${b} before the auction`],
  },
  {
    from: "ship",
    to: "town",
    asked: (x) => `the home port of ${x}`,
    now: [
      (a, b) => `the ${a} has ${b} as its home port`,
      (a, b) => `${b} is home port of the ${a}`,
      (a, b) => `from every voyage the ${a} returns to ${b}, its home port`,
    ],
    past: [
      (a, b) => `${b} was home port of the ${a} in former days`,
      (a, b) => `the ${a} left ${b} for another home port`,
    ],
  },
];
/** By level: steps, entities of each kind. */
const SIZES = [
  [2, 3],
  [3, 4],
  [4, 5],
  [5, 7],
  [6, 9],
] as const;
const KINDS: readonly Kind[] = ["person", "firm", "town", "ship"];

export const relationChainQuestion = fieldRow<Given>({
  id: "relation-chain-question",
  asks: "the end of a chain of relations over many documents, with the document of each step in order",
  draw,
  solve,
  isShared: true,
  canonical: ({ documents, start, path }) => ({ facts: documents.flat(), start, path }),
  values: () =>
    "answer is the name, and sources are the marks of the documents that prove it, one for each step from the name in the question to the answer, in this order, with commas between",
  wordings: [
    (one, rng) =>
      `${shown(one, rng)}\n\nWho or which is ${question(one)}? The present counts: something that has ended proves nothing.`,
    (one, rng) =>
      `Find ${question(one)}.\n\nUse only the papers below. Some of them report former states of affairs, which hold no more.\n\n${shown(one, rng)}`,
    (one, rng) =>
      `An archivist hands you these papers, in no order:\n\n${shown(one, rng)}\n\nA client wants to know the name of ${question(one)}, as things stand now, and the proof.`,
    (one, rng) =>
      `Question: name ${question(one)}.\nEvery link must be backed by a statement about today in one of the sources.\nSources:\n${shown(one, rng)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [steps, size] = at(SIZES, level - 1);
  const names = distinct(4 * size, () => name(rng));
  const of = (kind: Kind): string[] => {
    const first = KINDS.indexOf(kind) * size;
    return names.slice(first, first + size);
  };
  const facts = RELATIONS.flatMap(({ from, to }, relation) =>
    of(from).map((one): Fact => {
      const other = rng.pick(of(to).filter((target) => target !== one));
      return { relation, from: one, to: other, isPast: false };
    }),
  );
  let here = { kind: rng.pick(KINDS), name: "" };
  here.name = rng.pick(of(here.kind));
  const start = here.name;
  const chain: Fact[] = [];
  for (const _ of range(steps)) {
    const next = rng.pick(facts.filter(({ from }) => from === here.name));
    chain.push(next);
    here = { kind: at(RELATIONS, next.relation).to, name: next.to };
  }
  if (new Set([start, ...chain.map(({ to }) => to)]).size <= steps) return null;
  const ended = sample(facts, level === 1 ? 2 : size * 2, rng);
  const past = [...new Set([...chain, ...ended])].map((fact): Fact => {
    const { to } = at(RELATIONS, fact.relation);
    return { ...fact, to: rng.pick(of(to).filter((one) => one !== fact.to && one !== fact.from)), isPast: true };
  });
  const documents: Fact[][] = [];
  const left = shuffled([...facts, ...past], rng);
  while (left.length > 0) documents.push(left.splice(0, between(rng, 1, 3)));
  // One document for each step: the order of the sources is then the order of the steps.
  if (documents.some((document) => document.filter((fact) => chain.includes(fact)).length > 1)) return null;
  return { documents, start, path: chain.map(({ relation }) => relation) };
}

function solve({ documents, start, path }: Given): Solution | null {
  const all = documents.flatMap((facts, document) => facts.map((fact) => ({ ...fact, document })));
  const marks = marksOf("D", documents.length);
  /** The end and the documents, where former facts count at some of the steps. */
  const follow = (isPastAt: (step: number) => boolean): string[] => {
    let here = start;
    const sources: string[] = [];
    for (const [step, relation] of path.entries()) {
      const isWanted = (isPast: boolean) => (fact: Fact) =>
        fact.relation === relation && fact.from === here && fact.isPast === isPast;
      const fact = (isPastAt(step) ? all.find(isWanted(true)) : undefined) ?? all.find(isWanted(false));
      if (fact === undefined) return [];
      sources.push(at(marks, fact.document));
      here = fact.to;
    }
    return [here, marked(sources)];
  };
  const [answer = "", sources = ""] = follow(() => false);
  const last = path.length - 1;
  const steps = sources.split(", ");
  return {
    fields: [
      { name: "answer", kind: "word", value: answer, options: [...new Set(all.map(({ to }) => to))] },
      { name: "sources", kind: "sequence", value: sources, options: marks },
    ],
    slips: [
      follow((step) => step === 0),
      follow((step) => step === last),
      [answer, marked(steps.slice(1))],
      [answer, marked(steps.toReversed())],
    ],
    steps: path.length * documents.length,
  };
}

function question({ start, path }: Given): string {
  return path.reduce((inner, relation) => at(RELATIONS, relation).asked(inner), start);
}

function shown({ documents }: Given, rng: Rng): string {
  const texts = documents.map((facts) =>
    facts
      .map(({ relation, from, to, isPast }) => {
        const { now, past } = at(RELATIONS, relation);
        return sentence(rng.pick(isPast ? past : now)(from, to));
      })
      .join(" "),
  );
  return corpus(texts, rng);
}
