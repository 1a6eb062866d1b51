/** Generates word problems in the form of the dataset: a few situations, each with its own numbers, names and things. */
import type { Rng } from "../../../random/rng.ts";

export interface WordProblem {
  question: string;
  /** Steps of the solution, and behind `####` the number. */
  answer: string;
}

const PEOPLE = ["Amira", "Bela", "Chidi", "Dorota", "Emre", "Freya", "Goran", "Hana", "Ivo", "Jun", "Kofi", "Leila"];
const THINGS = ["pens", "apples", "stickers", "marbles", "postcards", "buttons", "shells", "cookies"];
const GOODS = ["notebook", "kite", "lamp", "scarf", "board game", "basket", "umbrella"];

interface Story {
  question: string;
  steps: readonly string[];
  result: number;
}

/** Endless. */
export function* problems(rng: Rng): Generator<WordProblem> {
  for (;;) {
    const { question, steps, result } = rng.pick(STORIES)(rng);
    // A number of the question would be its own answer.
    if (question.match(/\d+/gu)?.includes(String(result)) === true) continue;
    yield { question, answer: [...steps, `#### ${result}`].join("\n") };
  }
}

const between = (rng: Rng, low: number, high: number): number => low + rng.integer(high - low + 1);

const STORIES: readonly ((rng: Rng) => Story)[] = [
  sharing,
  shopping,
  travelling,
  baking,
  saving,
  reading,
  planting,
  crowding,
];

function sharing(rng: Rng): Story {
  const [who, things, friends, each] = [rng.pick(PEOPLE), rng.pick(THINGS), between(rng, 2, 9), between(rng, 3, 20)];
  const kept = between(rng, 1, 30);
  const all = friends * each + kept;
  return {
    question: `${who} has ${all} ${things}, keeps ${kept} of them and shares the rest equally among ${friends} friends. How many ${things} does each friend get?`,
    steps: [
      `There are ${all} - ${kept} = ${all - kept} to share.`,
      `Each friend gets ${all - kept} / ${friends} = ${each}.`,
    ],
    result: each,
  };
}

function shopping(rng: Rng): Story {
  const [who, item, price, count] = [rng.pick(PEOPLE), rng.pick(GOODS), between(rng, 3, 40), between(rng, 2, 6)];
  const cost = price * count;
  const paid = Math.ceil((cost + 1) / 50) * 50;
  return {
    question: `One ${item} costs $${price}. ${who} buys ${count} of them and pays with $${paid}. How many dollars does ${who} get back?`,
    steps: [
      `All together they cost ${count} * ${price} = ${cost} dollars.`,
      `The change is ${paid} - ${cost} = ${paid - cost} dollars.`,
    ],
    result: paid - cost,
  };
}

function travelling(rng: Rng): Story {
  const [who, slow, fast] = [rng.pick(PEOPLE), between(rng, 3, 6), between(rng, 12, 25)];
  const [walked, ridden] = [between(rng, 1, 4), between(rng, 2, 5)];
  return {
    question: `${who} walks for ${walked} hours at ${slow} kilometres per hour and then rides a bicycle for ${ridden} hours at ${fast} kilometres per hour. How many kilometres is that in all?`,
    steps: [
      `On foot it is ${walked} * ${slow} = ${walked * slow} kilometres.`,
      `By bicycle it is ${ridden} * ${fast} = ${ridden * fast} kilometres.`,
      `In all it is ${walked * slow} + ${ridden * fast} = ${walked * slow + ridden * fast}.`,
    ],
    result: walked * slow + ridden * fast,
  };
}

function baking(rng: Rng): Story {
  const [who, trays, perTray, eaten] = [rng.pick(PEOPLE), between(rng, 3, 8), between(rng, 6, 15), between(rng, 2, 10)];
  const price = between(rng, 2, 5);
  const left = trays * perTray - eaten;
  return {
    question: `${who} bakes ${trays} trays of ${perTray} rolls, the family eats ${eaten} of them, and the others are sold for $${price} each. How many dollars does that bring?`,
    steps: [
      `There are ${trays} * ${perTray} = ${trays * perTray} rolls.`,
      `To sell there are ${trays * perTray} - ${eaten} = ${left}.`,
      `They bring ${left} * ${price} = ${left * price} dollars.`,
    ],
    result: left * price,
  };
}

function saving(rng: Rng): Story {
  const [who, weeks, weekly, start] = [
    rng.pick(PEOPLE),
    between(rng, 4, 20),
    between(rng, 5, 25),
    between(rng, 10, 90),
  ];
  const total = start + weeks * weekly;
  return {
    question: `${who} has $${start} and wants to have $${total}. How many weeks does that take if ${who} saves $${weekly} every week?`,
    steps: [
      `${total} - ${start} = ${total - start} dollars are missing.`,
      `That takes ${total - start} / ${weekly} = ${weeks} weeks.`,
    ],
    result: weeks,
  };
}

function reading(rng: Rng): Story {
  const [who, daily, days, rest] = [rng.pick(PEOPLE), between(rng, 10, 30), between(rng, 3, 9), between(rng, 20, 150)];
  const pages = 2 * daily * days + rest;
  return {
    question: `A book has ${pages} pages. ${who} reads ${daily} pages a day for ${days} days, and for as many days again. How many pages are left?`,
    steps: [
      `In the first ${days} days it is ${daily} * ${days} = ${daily * days} pages, and as many in the next.`,
      `That is 2 * ${daily * days} = ${2 * daily * days} pages.`,
      `${pages} - ${2 * daily * days} = ${rest} pages are left.`,
    ],
    result: rest,
  };
}

function planting(rng: Rng): Story {
  const [who, rows, perRow] = [rng.pick(PEOPLE), between(rng, 4, 12), 2 * between(rng, 3, 9)];
  const more = between(rng, 5, 25);
  return {
    question: `${who} plants ${rows} rows of ${perRow} trees. Half of them are pears and the others plums. Later ${who} plants ${more} more plums. How many plums are there?`,
    steps: [
      `There are ${rows} * ${perRow} = ${rows * perRow} trees.`,
      `Half of them, ${rows * perRow} / 2 = ${(rows * perRow) / 2}, are plums.`,
      `With those planted later there are ${(rows * perRow) / 2} + ${more} = ${(rows * perRow) / 2 + more}.`,
    ],
    result: (rows * perRow) / 2 + more,
  };
}

function crowding(rng: Rng): Story {
  const [coaches, seats, empty] = [between(rng, 3, 12), between(rng, 20, 60), between(rng, 1, 19)];
  const [leave, come] = [between(rng, 5, 30), between(rng, 5, 30)];
  const first = coaches * seats - empty;
  return {
    question: `A train has ${coaches} coaches with ${seats} seats each, and ${empty} seats are empty. At the next stop ${leave} people get off and ${come} get on. How many people are on the train now?`,
    steps: [
      `At first there are ${coaches} * ${seats} - ${empty} = ${first} people.`,
      `Then there are ${first} - ${leave} + ${come} = ${first - leave + come}.`,
    ],
    result: first - leave + come,
  };
}
