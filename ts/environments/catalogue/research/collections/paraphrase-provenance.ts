/** paraphrase-provenance: from which record each reworded passage comes, or from none, among records that differ in one fact. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, name } from "../../../builtin/words.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { numbered } from "../documents.ts";

/** What a record tells: places in the lists below, years, numbers of people and days. */
interface Facts {
  trade: number;
  thing: number;
  town: number;
  year: number;
  people: number;
  days: number;
}

interface Given {
  towns: string[];
  records: Facts[];
  passages: Facts[];
  /** A year to which passages refer. */
  fair: number;
}

/** By level: records, passages. */
const SIZES = [
  [5, 5],
  [8, 6],
  [13, 7],
  [20, 8],
  [32, 10],
] as const;
const NONE = "none";
const TRADES = [
  ["a mason", "somebody who built with stone"],
  ["a baker", "a maker of bread"],
  ["a tanner", "a worker of hides"],
  ["a glazier", "someone who fitted windows"],
] as const;
const THINGS = [
  ["a bell", "the thing that rings in a tower"],
  ["a mill", "a place for grinding grain"],
  ["a bridge", "a way across the water"],
  ["a well", "a shaft for drinking water"],
] as const;

export const paraphraseProvenance = fieldRow<Given>({
  id: "paraphrase-provenance",
  asks: "the record from which each reworded passage was written, or none, among near twins",
  draw,
  solve,
  isShared: true,
  values: () => `each value is the mark of a record, or ${NONE}`,
  wordings: [
    (one, rng) =>
      `Records:\n${records(one)}\n\nPassages of a later book, which says the same things in other words:\n${passages(one, rng)}\n\n${rule(one)}`,
    (one, rng) => `${rule(one)}\n\nPassages:\n${passages(one, rng)}\n\nRecords:\n${records(one)}`,
    (one, rng) =>
      `An editor paraphrased records of an archive without saying which of them.\n${records(one)}\nHis texts:\n${passages(one, rng)}\n${rule(one)}`,
    (one, rng) =>
      `Trace each text to its source. Texts:\n${passages(one, rng)}\n\nPossible sources:\n${records(one)}\n\n${rule(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, passageCount] = at(SIZES, level - 1);
  const fact = (): Facts => ({
    trade: rng.integer(TRADES.length),
    thing: rng.integer(THINGS.length),
    town: rng.integer(4),
    year: between(rng, 1650, 1720),
    people: between(rng, 4, 30),
    days: 7 * between(rng, 2, 12),
  });
  const seeds = range(Math.ceil(count / 3)).map(fact);
  const recordsDrawn = range(count).map((index) =>
    index < seeds.length ? at(seeds, index) : varied(rng.pick(seeds), rng),
  );
  if (new Set(recordsDrawn.map((one) => JSON.stringify(one))).size < count) return null;
  const passagesDrawn = range(passageCount).map((index) =>
    index < passageCount - Math.floor(passageCount / 3)
      ? at(recordsDrawn, index % count)
      : varied(rng.pick(recordsDrawn), rng),
  );
  return {
    towns: distinct(4, () => name(rng)),
    records: shuffled(recordsDrawn, rng),
    passages: shuffled(passagesDrawn, rng),
    fair: between(rng, 1620, 1640),
  };
}

/** The same but for one fact. */
function varied(one: Facts, rng: Rng): Facts {
  const next = { ...one };
  switch (rng.integer(5)) {
    case 0:
      next.trade = (one.trade + between(rng, 1, TRADES.length - 1)) % TRADES.length;
      break;
    case 1:
      next.thing = (one.thing + between(rng, 1, THINGS.length - 1)) % THINGS.length;
      break;
    case 2:
      next.town = (one.town + between(rng, 1, 3)) % 4;
      break;
    case 3:
      next.year = one.year + rng.pick([-2, -1, 1, 2]);
      break;
    default:
      next.people = one.people + rng.pick([-2, -1, 1, 2]);
  }
  return next;
}

function solve({ records: all, passages: some }: Given): Solution | null {
  const texts = all.map((one) => JSON.stringify(one));
  const options = [...all.map((_, index) => `R${index + 1}`), NONE];
  const found = some.map((one) => {
    const place = texts.indexOf(JSON.stringify(one));
    return place < 0 ? NONE : `R${place + 1}`;
  });
  const none = found.filter((value) => value === NONE).length;
  if (none < 1 || none > some.length / 2 || new Set(found).size < 3) return null;
  // The slip takes the nearest record even where a fact differs.
  const nearest = some.map((one) => {
    const misses = all.map(
      (record) => Object.entries(one).filter(([key, value]) => record[key as keyof Facts] !== value).length,
    );
    return `R${misses.indexOf(Math.min(...misses)) + 1}`;
  });
  return {
    fields: found.map((value, index) => ({ name: `P${index + 1}`, kind: "word", value, options })),
    slips: [
      nearest,
      found.map(() => NONE),
      found.map((value, index) => (index === 0 ? at(options, (options.indexOf(value) + 1) % options.length) : value)),
    ],
    steps: all.length * some.length,
  };
}

function records({ towns, records: all }: Given): string {
  return numbered(
    all.map(
      ({ trade, thing, town, year, people, days }) =>
        `In ${year} ${at(TRADES, trade)[0]} of ${at(towns, town)} finished ${at(THINGS, thing)[0]} with ${people} helpers in ${days} days.`,
    ),
    "R",
  );
}

function passages({ towns, passages: all, fair }: Given, rng: Rng): string {
  return numbered(
    all
      .map(({ trade, thing, town, year, people, days }) => {
        const who = at(TRADES, trade)[1];
        const what = at(THINGS, thing)[1];
        const [when, long, team] = [
          `${year - fair} years after the great fair`,
          `${days / 7} weeks`,
          `${people + 1} people, the master included`,
        ];
        return rng.pick([
          `It took ${team}, ${long} until ${what} was ready; ${who} in ${at(towns, town)} led them, ${when}.`,
          `${when}, ${at(towns, town)} got ${what}. For ${long} ${who} had been at it; they were ${team}.`,
          `Under ${who} from ${at(towns, town)}, ${team}, spent ${long} on ${what}, and were done ${when}.`,
        ]);
      })
      .map((text) => text.charAt(0).toUpperCase() + text.slice(1)),
    "P",
  );
}

function rule({ fair }: Given): string {
  return `The great fair was in ${fair}. For each passage name the record that says the same in every point; where none does, write ${NONE}.`;
}
