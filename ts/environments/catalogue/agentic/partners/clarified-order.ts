/** clarified-order: an order with open points is completed from records where they decide, and by as few questions as possible. */
import { z } from "zod";

import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { name } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, recordName } from "../records.ts";

/** Where the value of a point comes from. */
const SOURCES = ["said", "product", "habit", "exception", "ask"] as const;
type Source = (typeof SOURCES)[number];

interface Point {
  name: string;
  options: string[];
  value: string;
  source: Source;
}

interface Instance {
  customer: string;
  customerName: string;
  product: string;
  points: Point[];
  /** The order is a gift: then the customer's exceptions hold instead of the habits. */
  gift: boolean;
}

interface World {
  readonly instance: Instance;
  readonly asked: Set<string>;
  placed: Readonly<Record<string, string>> | null;
  orders: number;
}

const POINTS: Readonly<Record<string, readonly string[]>> = {
  size: ["small", "medium", "large", "extra large"],
  colour: ["sand", "slate", "ivory", "rust", "moss"],
  material: ["oak", "steel", "linen", "wool"],
  delivery: ["courier", "post", "pick up", "locker"],
  wrapping: ["none", "paper", "box", "cloth"],
  payment: ["invoice", "card", "transfer", "cash"],
  engraving: ["none", "initials", "date", "name"],
  weekday: ["Monday", "Tuesday", "Thursday", "Friday", "Saturday"],
  insurance: ["none", "basic", "full"],
  language: ["English", "German", "French", "Polish", "Dutch"],
};
/** By level: points, points that only the customer knows. */
const SIZES = [
  [4, 1],
  [5, 1],
  [7, 2],
  [8, 3],
  [10, 4],
] as const;

const tools = {
  get_customer: worldTool({
    description: "The habits of a customer, and the exceptions for gifts, which come before habits",
    parameters: z.object({ customer: recordName }),
    run: ({ instance }: World, { customer }) => {
      if (customer !== instance.customer) throw new Refusal(`there is no customer ${customer}`);
      const of = (...sources: Source[]) => instance.points.filter(({ source }) => sources.includes(source));
      // Exceptions stand beside a habit that they replace, and habits beside what the order says.
      const habits = [
        ...of("habit").map((one) => [one.name, one.value]),
        ...of("exception", "said").map((one) => [one.name, otherOf(one)]),
      ];
      return {
        habits: Object.fromEntries(habits),
        for_gifts: Object.fromEntries(of("exception").map((one) => [one.name, one.value])),
      };
    },
  }),
  get_product: worldTool({
    description: "The options of a product for each point of an order",
    parameters: z.object({ product: recordName }),
    run: ({ instance }: World, { product }) => {
      if (product !== instance.product) throw new Refusal(`there is no product ${product}`);
      return Object.fromEntries(
        instance.points.map((one) => [one.name, one.source === "product" ? [one.value] : one.options]),
      );
    },
  }),
  ask_customer: worldTool({
    description: "Asks the customer about one point",
    parameters: z.object({ point: z.string().max(20) }),
    run: ({ instance, asked }: World, { point }) => {
      const found = instance.points.find((one) => one.name === point);
      if (found === undefined) throw new Refusal(`an order has no point ${point}`);
      asked.add(point);
      return { answer: found.value };
    },
  }),
  place_order: worldTool({
    description: "Places the order, with a value for each point. Only one order is taken",
    parameters: z.object({
      customer: recordName,
      product: recordName,
      points: z.record(z.string().max(20), z.string().max(20)),
    }),
    run: (world: World, { customer, product, points }) => {
      const { instance } = world;
      if (customer !== instance.customer || product !== instance.product)
        throw new Refusal("customer or product is unknown");
      if (world.orders > 0) throw new Refusal("the order has been placed already");
      world.orders += 1;
      world.placed = points;
      return "placed";
    },
  }),
};

const ORDER =
  "What the customer has said now comes first; then what the product allows, where it leaves one option; then, for a gift, the customer's exceptions; then the customer's habits.";

export const clarifiedOrder = defineWorldRow<Instance, World>({
  id: "clarified-order",
  asks: "complete an order from what was said, the product and the customer's habits, and ask only about the rest",
  make,
  effort: ({ points }) => points.length * 3 + points.filter(({ source }) => source === "ask").length,
  canonical: ({ points, gift }) => [points.map((one) => [one.name, one.value, one.source]), gift],
  prompts: [
    (one) =>
      `${one.customerName} (${one.customer}) orders ${one.product}${one.gift ? " as a gift" : ""}: "${said(one)}" Place the order with the points ${names(one)}. ${ORDER} A point that none of these decides has to be asked, and only such a point: customers do not like questions, so each needless one costs most of the reward. A wrong point makes the order worthless.`,
    (one) =>
      `Order in: product ${one.product}, customer ${one.customer} (${one.customerName})${one.gift ? ", a present for someone" : ""}.\nThe customer writes: "${said(one)}"\n\nAn order has these points: ${names(one)}. Fill in all of them and place it once. ${ORDER} If nothing of that gives a value, ask. Do not ask what can be found out otherwise.`,
    (one) =>
      `Please place one order for ${one.customer}. Points to be decided: ${names(one)}. Product: ${one.product}. ${one.gift ? "It is a gift. " : ""}Words of ${one.customerName}: "${said(one)}"\n${ORDER} Ask the customer about a point only if all of this leaves it open; every question beyond that is counted against you.`,
    (one) =>
      `${ORDER} By this order of precedence complete what ${one.customerName} wants: ${one.product}${one.gift ? ", meant as a gift" : ""}; "${said(one)}" The record of the customer is ${one.customer}. Points: ${names(one)}. Questions are allowed where nothing decides and are a nuisance everywhere else. The order must be exactly right.`,
  ],
  tools,
  world: (instance) => ({ instance, asked: new Set(), placed: null, orders: 0 }),
  gold: (instance) => script(instance, open(instance), right(instance)),
  slips: (instance) => {
    const wanted = right(instance);
    const [first] = instance.points;
    const unasked = Object.fromEntries(
      instance.points.map((one) => [one.name, one.source === "ask" ? otherOf(one) : one.value]),
    );
    return {
      "asks one point too many": script(instance, [...open(instance), at(known(instance), 0)], wanted),
      "guesses instead of asking": script(instance, [], unasked),
      "one wrong point": script(instance, open(instance), {
        ...wanted,
        ...(first === undefined ? {} : { [first.name]: otherOf(first) }),
      }),
      "places nothing": script(instance, open(instance), wanted).slice(0, -1),
      "asks everything": script(
        instance,
        instance.points.map((one) => one.name),
        wanted,
      ),
    };
  },
  blankets: (instance) => ({
    "asks everything": script(
      instance,
      instance.points.map((one) => one.name),
      right(instance),
    ),
    "takes the first options": script(
      instance,
      [],
      Object.fromEntries(instance.points.map((one) => [one.name, at(one.options, 0)])),
    ),
  }),
  grade: (instance, { asked, placed }) => {
    if (placed === null) return 0;
    const isRight =
      instance.points.every((one) => placed[one.name] === one.value) &&
      Object.keys(placed).length === instance.points.length;
    const needless = [...asked].filter((point) => !open(instance).includes(point)).length;
    // What was guessed is no answer, even where the guess is right.
    const isGuessed = open(instance).some((point) => !asked.has(point));
    return isRight && !isGuessed ? 1 / (1 + needless) ** 2 : 0;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, asks] = at(SIZES, level - 1);
  const gift = rng.integer(2) === 0;
  const others: Source[] = ["said", "product", "habit", ...(gift ? (["exception"] as const) : [])];
  const sources = shuffled(
    [...range(asks).map((): Source => "ask"), ...range(count - asks).map(() => rng.pick(others))],
    rng,
  );
  const points = sample(Object.entries(POINTS), count, rng).map(([point, options], index): Point => ({
    name: point,
    options: [...options],
    value: rng.pick(options),
    source: at(sources, index),
  }));
  const isVaried = points.some(({ source }) => source === "said") && new Set(sources).size > Math.min(2, level);
  const [customer = "", product = ""] = [...namesOf("cust", 1, rng), ...namesOf("prod", 1, rng)];
  const instance = { customer, customerName: name(rng), product, points: shuffled(points, rng), gift };
  return isVaried ? instance : null;
}

/** Another option of a point, always the same. */
function otherOf({ options, value }: Point): string {
  return at(options, (options.indexOf(value) + 1) % options.length);
}

function open({ points }: Instance): string[] {
  return points.filter(({ source }) => source === "ask").map((one) => one.name);
}

function known({ points }: Instance): string[] {
  return points.filter(({ source }) => source !== "ask").map((one) => one.name);
}

function right({ points }: Instance): Record<string, string> {
  return Object.fromEntries(points.map((one) => [one.name, one.value]));
}

function said({ points }: Instance): string {
  const wishes = points.filter(({ source }) => source === "said").map((one) => `${one.name} ${one.value}`);
  return `${wishes.join(", ")}, please.`;
}

function names({ points }: Instance): string {
  return points.map((one) => one.name).join(", ");
}

function script(
  { customer, product }: Instance,
  asked: readonly string[],
  points: Readonly<Record<string, string>>,
): Script {
  return [
    call("get_customer", { customer }),
    call("get_product", { product }),
    ...asked.map((point): Call => call("ask_customer", { point })),
    call("place_order", { customer, product, points }),
  ];
}
