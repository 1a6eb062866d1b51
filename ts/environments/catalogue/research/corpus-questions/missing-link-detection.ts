/** missing-link-detection: questions over several facts, some of which the documents do not state: the answer, or whose fact is missing. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { corpus } from "../documents.ts";

/** Each relation leads from a person to one other person. */
const RELATIONS = ["teacher", "neighbour", "landlord", "doctor"] as const;

interface Given {
  people: string[];
  /** For each relation and person, to whom it leads. */
  leads: number[][];
  /** Relation and person of the facts that no document states. */
  missing: [relation: number, person: number][];
  questions: { person: number; relations: number[] }[];
  order: number[];
}

/** By level: people, relations, steps of a question. */
const SIZES = [
  [5, 2, 2],
  [7, 2, 3],
  [9, 3, 3],
  [12, 3, 4],
  [16, 4, 5],
] as const;
const QUESTIONS = 8;
const UNKNOWN = "unknown";

export const missingLinkDetection = fieldRow<Given>({
  id: "missing-link-detection",
  asks: "answers to questions over several facts, or the person whose fact is not stated anywhere",
  draw,
  solve,
  isShared: true,
  values: () =>
    `each value is the name of a person, or, where a fact that is needed is not stated, ${UNKNOWN} and the name of the first person about whom it is missing, as in "${UNKNOWN} Anna"`,
  wordings: [
    (one, rng) =>
      `Documents:\n${shown(one, rng)}\n\n${asked(one)}\n\nNothing but the documents counts, and relations do not hold the other way round.`,
    (one, rng) =>
      `Answer from the following documents only; the relations in them go one way.\n${asked(one)}\n\n${shown(one, rng)}`,
    (one, rng) =>
      `${asked(one)}\nUse these notes. Some of the questions cannot be answered from them, because a link of the chain is absent.\n${shown(one, rng)}`,
    (one, rng) =>
      `Notes of a census (each relation leads from one person to exactly one other, and is not symmetric):\n${shown(one, rng)}\nWho is meant, or whose entry is missing?\n${asked(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, relations, steps] = at(SIZES, level - 1);
  const leads = range(relations).map(() =>
    range(count).map((person) => rng.pick(range(count).filter((one) => one !== person))),
  );
  const all = range(relations).flatMap((relation) =>
    range(count).map((person): [number, number] => [relation, person]),
  );
  return {
    people: distinct(count, () => name(rng)),
    leads,
    missing: sample(all, Math.max(1, Math.round(all.length * (0.5 / steps))), rng),
    questions: range(QUESTIONS).map(() => ({
      person: rng.integer(count),
      relations: range(steps).map(() => rng.integer(relations)),
    })),
    order: shuffled(range(all.length), rng),
  };
}

function solve({ people, leads, missing, questions }: Given): Solution | null {
  if (new Set(questions.map((one) => JSON.stringify(one))).size < questions.length) return null;
  const gaps = new Set(missing.map((one) => one.join()));
  let steps = 0;
  const answers = questions.map(({ person, relations }) => {
    let now = person;
    for (const relation of relations) {
      steps += 1;
      if (gaps.has(`${relation},${now}`)) return `${UNKNOWN} ${at(people, now)}`;
      now = at(at(leads, relation), now);
    }
    return at(people, now);
  });
  const open = answers.filter((answer) => answer.startsWith(UNKNOWN)).length;
  if (open < 2 || open > QUESTIONS - 3 || new Set(answers).size < 5) return null;
  const oneHop = questions.map(({ person, relations }) => at(people, at(at(leads, at(relations, 0)), person)));
  const guessed = questions.map(({ person, relations }) =>
    at(
      people,
      relations.reduce((now, relation) => at(at(leads, relation), now), person),
    ),
  );
  const vague = answers.map((answer) => (answer.startsWith(UNKNOWN) ? UNKNOWN : answer));
  return {
    fields: answers.map((value, index) => ({
      name: `Q${index + 1}`,
      kind: "word",
      value,
      options: [...people, ...people.map((one) => `${UNKNOWN} ${one}`)],
    })),
    slips: [oneHop, guessed, vague],
    steps: steps + people.length * leads.length,
  };
}

function shown({ people, leads, missing, order }: Given, rng: Rng): string {
  const facts = order.flatMap((place) => {
    const [relation, person] = [Math.floor(place / people.length), place % people.length];
    if (missing.some(([r, p]) => r === relation && p === person)) return [];
    const [who, other, word] = [at(people, person), at(people, at(at(leads, relation), person)), RELATIONS[relation]];
    return [
      rng.pick([
        `The ${word} of ${who} is ${other}.`,
        `${other} is ${who}'s ${word}.`,
        `${who} has ${other} for a ${word}.`,
      ]),
    ];
  });
  return corpus(facts, rng);
}

function asked({ people, questions }: Given): string {
  return questions
    .map(
      ({ person, relations }, index) =>
        `Q${index + 1}: the ${relations
          .map((relation) => RELATIONS[relation])
          .toReversed()
          .join(" of the ")} of ${at(people, person)}`,
    )
    .join("\n");
}
