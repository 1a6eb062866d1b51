/** adversary-guess: an item is pinned down by yes-or-no questions although the partner decides on it as late as possible. */
import { z } from "zod";

import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, pageOf, pageStart, recordName, recordOf } from "../records.ts";

interface Item {
  id: string;
  /** A value for each property. */
  values: string[];
}

interface Instance {
  properties: string[];
  items: Item[];
  /** Questions that may be asked. */
  most: number;
}

interface World {
  readonly instance: Instance;
  left: Item[];
  asked: number;
  claimed: string | null;
  claims: number;
}

interface Question {
  property: string;
  values: string[];
}

/** By level: items, properties, most values of a property. */
const SIZES = [
  [6, 3, 3],
  [12, 4, 4],
  [24, 4, 5],
  [48, 5, 6],
  [90, 6, 7],
] as const;
const PROPERTIES = ["colour", "size", "origin", "age", "shape", "owner"];
const VALUES = ["amber", "birch", "cobalt", "delta", "ember", "flint", "grove"];
const PAGE = 30;

const tools = {
  list_items: worldTool<World, typeof pageStart>({
    description: `All items with their properties, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) =>
      pageOf(
        instance.items.map((item) => described(instance, item)),
        from,
        PAGE,
      ),
  }),
  ask: worldTool({
    description: "Asks whether the property of the item has one of the values",
    parameters: z.object({ property: z.string().max(20), values: z.array(z.string().max(20)).min(1).max(7) }),
    run: (world: World, question) => {
      if (world.asked >= world.instance.most) throw new Refusal("no questions are left");
      const [yes, no] = split(world.instance, world.left, question);
      world.asked += 1;
      world.left = yes.length > no.length ? yes : no.length === 0 ? yes : no;
      return { answer: world.left === yes ? "yes" : "no", questions_left: world.instance.most - world.asked };
    },
  }),
  claim: worldTool({
    description: "Names the item. Only one claim is possible",
    parameters: z.object({ item: recordName }),
    run: (world: World, { item }) => {
      recordOf(world.instance.items, item, "item");
      if (world.claims > 0) throw new Refusal("an item has been claimed already");
      world.claims += 1;
      world.claimed = item;
      return "noted";
    },
  }),
};

export const adversaryGuess = defineWorldRow<Instance, World>({
  id: "adversary-guess",
  asks: "pin an item down with few yes-or-no questions about sets of values, against a partner who keeps the most items possible",
  make,
  effort: ({ items, most }) => items.length + most,
  canonical: ({ items }) => items.map(({ values }) => values.join(" ")).toSorted(),
  prompts: [
    ({ most, items }) =>
      `One of ${items.length} items is meant. Ask whether a property has one of some values, at most ${most} times, then claim the item. The partner answers so that as many items as possible stay in question, always in agreement with earlier answers; only a claim when a single item is left is safe.`,
    ({ most, items }) =>
      `Guess the item (${items.length} candidates). A question names one property and a set of its values; the answer is yes or no. You have ${most} questions and one claim. Expect the worse answer each time: halve the candidates, do not hope.`,
    ({ most, items }) =>
      `The partner thinks of none of the ${items.length} items in particular, but must stay consistent. Force a single candidate with no more than ${most} questions of the kind "is its property among these values?", and claim it. A claim while others are possible is taken as wrong.`,
    ({ most, items }) =>
      `Find out which item it is. Candidates: ${items.length}. Questions: ${most}. Each asks for one property whether its value is in a set that you choose. Answers are as unfavourable as the earlier ones allow. End with exactly one claim.`,
  ],
  tools,
  world: (instance) => ({ instance, left: instance.items, asked: 0, claimed: null, claims: 0 }),
  gold: (instance) => {
    const { questions, item } = forced(instance.properties, instance.items);
    return script(instance, questions, item);
  },
  slips: (instance) => {
    const { questions, item } = forced(instance.properties, instance.items);
    const other = at(
      instance.items.filter(({ id }) => id !== item),
      0,
    ).id;
    return {
      "claims without the last question": script(instance, questions.slice(0, -1), item),
      "claims another item": script(instance, questions, other),
      "asks and claims nothing": script(instance, questions, null),
      "asks value by value": script(instance, valueByValue(instance), item),
      "claims first": [call("claim", { item: other }), ...script(instance, questions, item)],
    };
  },
  blankets: (instance) => ({
    "claims the first item": [call("claim", { item: at(instance.items, 0).id })],
    "asks value by value": script(instance, valueByValue(instance), at(instance.items, 0).id),
    "asks value by value and claims what is left": script(
      instance,
      valueByValue(instance),
      remaining(instance, valueByValue(instance)),
    ),
  }),
  grade: (_, { left, claimed }) => (left.length === 1 && claimed === left[0]?.id ? 1 : 0),
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, propertyCount, most] = at(SIZES, level - 1);
  const properties = shuffled(PROPERTIES, rng).slice(0, propertyCount);
  const sizes = properties.map(() => between(rng, 2, most));
  const room = sizes.reduce((product, size) => product * size, 1);
  if (room < 1.5 * count) return null;
  const kinds = new Set<string>();
  while (kinds.size < count) kinds.add(sizes.map((size) => at(VALUES, rng.integer(size))).join(" "));
  const ids = namesOf("item", count, rng);
  const items = [...kinds].map((kind, index): Item => ({ id: at(ids, index), values: kind.split(" ") }));
  const { questions } = forced(properties, items);
  const instance = { properties, items, most: questions.length };
  // Questions about one value each must not be enough.
  const isLazy = leftAfter(instance, valueByValue(instance)).length === 1;
  return isLazy ? null : instance;
}

/** Items with and without one of the values. Throws Refusal for an unknown property. */
function split(
  { properties }: Pick<Instance, "properties">,
  items: readonly Item[],
  { property, values }: Question,
): [yes: Item[], no: Item[]] {
  const index = properties.indexOf(property);
  if (index < 0) throw new Refusal(`there is no property ${property}; there are ${properties.join(", ")}`);
  const isIn = (item: Item): boolean => values.includes(at(item.values, index));
  return [items.filter(isIn), items.filter((item) => !isIn(item))];
}

/** Questions that split what is left most evenly, until one item is left. */
function forced(properties: readonly string[], items: readonly Item[]): { questions: Question[]; item: string } {
  const questions: Question[] = [];
  let left = [...items];
  while (left.length > 1) {
    let best: { question: Question; rest: Item[] } | null = null;
    for (const [index, property] of properties.entries()) {
      const values = [...new Set(left.map((item) => at(item.values, index)))].sort();
      for (let chosen = 1; chosen < 2 ** values.length - 1; chosen++) {
        const question = { property, values: values.filter((_, bit) => (chosen >> bit) % 2 === 1) };
        const [yes, no] = split({ properties: [...properties] }, left, question);
        const rest = yes.length > no.length ? yes : no;
        if (best === null || rest.length < best.rest.length) best = { question, rest };
      }
    }
    if (best === null) throw new RangeError("two items are equal");
    questions.push(best.question);
    left = best.rest;
  }
  return { questions, item: at(left, 0).id };
}

/** One value in each question, property by property. */
function valueByValue({ properties, items, most }: Instance): Question[] {
  return properties
    .flatMap((property, index) => {
      const values = [...new Set(items.map((item) => at(item.values, index)))].sort();
      return values.slice(1).map((value) => ({ property, values: [value] }));
    })
    .slice(0, most);
}

function leftAfter(instance: Instance, questions: readonly Question[]): Item[] {
  return questions.reduce<Item[]>((left, question) => {
    const [yes, no] = split(instance, left, question);
    return yes.length > no.length || no.length === 0 ? yes : no;
  }, instance.items);
}

function remaining(instance: Instance, questions: readonly Question[]): string {
  return at(leftAfter(instance, questions), 0).id;
}

function described({ properties }: Instance, { id, values }: Item): object {
  return { id, ...Object.fromEntries(properties.map((property, index) => [property, at(values, index)])) };
}

function script({ items }: Instance, questions: readonly Question[], item: string | null): Script {
  return [
    ...range(Math.ceil(items.length / PAGE)).map((page) => call("list_items", { from: page * PAGE })),
    ...questions.map((question): Call => call("ask", { ...question })),
    ...(item === null ? [] : [call("claim", { item })]),
  ];
}
