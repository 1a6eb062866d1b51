/** drifting-order: a customer changes an order message by message, with retractions and references, and the last wishes count. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { aboveBase, batches, call, changedShare, namesOf, recordName, recordNames, recordOf } from "../records.ts";

interface Article {
  id: string;
  kind: string;
  colour: string;
  price: number;
}

/** What the customer changes; `kind` and `colour` name an article. */
type Wish =
  | { act: "set"; kind: string; colour: string; count: number }
  | { act: "more"; kind: string; colour: string; count: number }
  | { act: "drop"; kind: string }
  | { act: "recolour"; kind: string; colour: string }
  | { act: "copy"; kind: string; colour: string; from: string }
  | { act: "undo" }
  | { act: "dearest" };

interface Instance {
  articles: Article[];
  messages: { wish: Wish; text: string }[];
  /** Share that the order after the first half of the messages gets. */
  base: number;
}

/** Number of each article in the cart. */
type Cart = Map<string, number>;

interface World {
  readonly instance: Instance;
  read: number;
  readonly cart: Cart;
}

/** By level: kinds of articles, colours, messages. */
const SIZES = [
  [3, 2, 3],
  [4, 3, 5],
  [5, 3, 8],
  [6, 4, 12],
  [8, 4, 18],
] as const;
const KINDS = ["lamp", "chair", "rug", "vase", "clock", "shelf", "mirror", "stool"];
const COLOURS = ["red", "blue", "green", "white"];

const tools = {
  next_message: worldTool<World, z.ZodObject>({
    description: "The next message of the customer",
    parameters: z.object({}),
    run: (world) => {
      const message = world.instance.messages[world.read];
      if (message === undefined) throw new Refusal("the customer has said all");
      world.read += 1;
      return { text: message.text, more: world.read < world.instance.messages.length };
    },
  }),
  find_articles: worldTool({
    description: "Articles of a kind, in all colours",
    parameters: z.object({ kind: z.string().max(20) }),
    run: ({ instance }: World, { kind }) =>
      instance.articles.filter((one) => one.kind === kind).map(({ id, colour }) => ({ id, colour })),
  }),
  get_prices: worldTool({
    description: "Prices of articles",
    parameters: z.object({ articles: recordNames }),
    run: ({ instance }: World, { articles }) =>
      Object.fromEntries(articles.map((id) => [id, recordOf(instance.articles, id, "article").price])),
  }),
  set_count: worldTool({
    description: "Sets how many of an article are in the order; 0 takes it out",
    parameters: z.object({ article: recordName, count: z.int().min(0).max(1000) }),
    run: ({ instance, cart }: World, { article, count }) => {
      recordOf(instance.articles, article, "article");
      if (count === 0) cart.delete(article);
      else cart.set(article, count);
      return Object.fromEntries(cart);
    },
  }),
};

const RULES =
  "A wish for a number of an article replaces an earlier number of it. Undoing takes back the last change that still stands and was not an undoing itself. The dearest line is the one whose article has the highest price for a piece.";

export const driftingOrder = defineWorldRow<Instance, World>({
  id: "drifting-order",
  asks: "keep an order up to date while the customer changes, takes back and refers to earlier wishes",
  make,
  effort: ({ messages, articles }) => messages.length * 4 + articles.length,
  canonical: ({ articles, messages }) => [
    articles.map(({ id, price }) => [id, price]),
    messages.map(({ wish }) => wish),
  ],
  prompts: [
    () =>
      `Take the order of a customer. Read the messages to the end with next_message and leave the order exactly as the customer wants it at last. ${RULES}`,
    () =>
      `A customer writes several messages, and changes the order again and again. Only the final wishes count: each line of the order has to be right, and nothing else may be in it. ${RULES} Articles have names that you find by their kind.`,
    () =>
      `${RULES}\n\nWith these rules follow a customer's messages, one after the other, until there are no more. The order in the system must then agree with what was wished. Wrong lines count against right ones.`,
    () =>
      `You enter orders. The customer of today cannot decide. Listen to all messages before you are done; early ones are often overtaken by later ones. ${RULES} In the end the counts of all articles have to be correct.`,
  ],
  tools,
  world: (instance) => ({ instance, read: 0, cart: new Map() }),
  gold: (instance) => script(instance, cartAfter(instance, instance.messages.length)),
  slips: (instance) => {
    const { messages } = instance;
    const right = cartAfter(instance, messages.length);
    const [line = ["", 0]] = right;
    const slips = {
      "stops before the last message": cartAfter(instance, messages.length - 1),
      "forgets what was taken back": cartOf(
        instance,
        messages.map(({ wish }) => wish).filter(({ act }) => act !== "undo"),
      ),
      "keeps everything that was ever wished": cartOf(
        instance,
        messages.map(({ wish }) => wish).filter(({ act }) => act === "set" || act === "more"),
      ),
      "one piece too many": new Map([...right, [line[0], line[1] + 1]]),
      "one line is missing": new Map([...right].slice(1)),
      "orders after the first message": cartAfter(instance, 1),
    };
    return Object.fromEntries(
      Object.entries(slips)
        .filter(([, cart]) => JSON.stringify(sorted(cart)) !== JSON.stringify(sorted(right)))
        .map(([slip, cart]) => [slip, script(instance, cart)]),
    );
  },
  blankets: (instance) => ({
    "orders after the first message": script(instance, cartAfter(instance, 1)),
    "one of everything": script(instance, new Map(instance.articles.map(({ id }) => [id, 1]))),
    "orders after half of the messages": script(
      instance,
      cartAfter(instance, Math.floor(instance.messages.length / 2)),
    ),
  }),
  grade: (instance, { cart }) => aboveBase(share(instance, cart), instance.base),
});

function make(rng: Rng, level: Level): Instance | null {
  const [kindCount, colourCount, count] = at(SIZES, level - 1);
  const kinds = sample(KINDS, kindCount, rng);
  const colours = COLOURS.slice(0, colourCount);
  const pairs = kinds.flatMap((kind) => colours.map((colour) => ({ kind, colour })));
  const ids = namesOf("art", pairs.length, rng);
  const prices = shuffled(range(pairs.length), rng);
  const articles = pairs.map((pair, index) => ({ id: at(ids, index), ...pair, price: 10 + 3 * at(prices, index) }));
  const wishes: Wish[] = [];
  while (wishes.length < count)
    wishes.push(
      drawWish(cartOf({ articles }, wishes), { articles, kinds, colours, isFirst: wishes.length === 0 }, rng),
    );
  const messages = wishes.map((wish) => ({ wish, text: said(wish, rng) }));
  const draft = { articles, messages, base: 0 };
  const right = cartAfter(draft, count);
  const base = Math.max(share(draft, cartAfter(draft, 1)), share(draft, cartAfter(draft, Math.floor(count / 2))));
  const isVaried = wishes.some(
    ({ act }) => act === "undo" || act === "copy" || act === "dearest" || act === "recolour",
  );
  const isDone = JSON.stringify(sorted(cartAfter(draft, count - 1))) === JSON.stringify(sorted(right));
  return right.size >= Math.min(2, level) && isVaried && !isDone && base < MOST_BASE ? { ...draft, base } : null;
}

/** Instances in which half of the messages give more are dropped. */
const MOST_BASE = 0.7;

interface Choice {
  readonly articles: readonly Article[];
  readonly kinds: readonly string[];
  readonly colours: readonly string[];
  readonly isFirst: boolean;
}

/** A wish that has a meaning for this cart. */
function drawWish(cart: Cart, { articles, kinds, colours, isFirst }: Choice, rng: Rng): Wish {
  const [kind, colour, count] = [rng.pick(kinds), rng.pick(colours), between(rng, 2, 9)];
  if (isFirst || cart.size === 0) return { act: "set", kind, colour, count };
  const own = rng.pick([...cart.keys()].map((id) => recordOf(articles, id, "article")));
  // A kind names a line only where the cart has one line of it.
  const isAlone = [...cart.keys()].filter((id) => recordOf(articles, id, "article").kind === own.kind).length === 1;
  const act = rng.pick(["set", "set", "more", "drop", "recolour", "copy", "undo", "dearest"] as const);
  const other = rng.pick(colours.filter((one) => one !== own.colour));
  if (act === "more") return { act, kind: own.kind, colour: own.colour, count: between(rng, 1, 4) };
  if (act === "undo") return { act };
  if (act === "dearest" && cart.size > 1) return { act };
  if (act === "drop" && isAlone && cart.size > 1) return { act, kind: own.kind };
  if (act === "recolour" && isAlone) return { act, kind: own.kind, colour: other };
  if (act === "copy" && isAlone && kind !== own.kind) return { act, kind, colour, from: own.kind };
  return { act: "set", kind, colour, count };
}

function said(wish: Wish, rng: Rng): string {
  const pick = (...texts: string[]): string => rng.pick(texts);
  if (wish.act === "set")
    return pick(
      `Please put ${wish.count} of the ${wish.colour} ${wish.kind} down for me.`,
      `I want the ${wish.kind} in ${wish.colour}, ${wish.count} pieces.`,
    );
  if (wish.act === "more")
    return pick(
      `${wish.count} more of the ${wish.colour} ${wish.kind}, please.`,
      `Add another ${wish.count} to the ${wish.kind} in ${wish.colour}.`,
    );
  if (wish.act === "drop") return pick(`Forget the ${wish.kind}, I do not need any.`, `No ${wish.kind} after all.`);
  if (wish.act === "recolour")
    return pick(
      `Make the ${wish.kind} ${wish.colour} instead, the same number.`,
      `I would rather have the ${wish.kind} in ${wish.colour}.`,
    );
  if (wish.act === "copy")
    return pick(
      `And as many of the ${wish.colour} ${wish.kind} as I have of the ${wish.from}.`,
      `The ${wish.kind} in ${wish.colour}: the same number as of the ${wish.from}.`,
    );
  if (wish.act === "undo") return pick("Oh no, take my last change back.", "Undo that last change, please.");
  return pick("That gets expensive. Take the dearest line out.", "Leave out the line with the dearest article.");
}

/** The cart after wishes; an undoing takes back the last change that still stands. */
function cartOf({ articles }: Pick<Instance, "articles">, wishes: readonly Wish[]): Cart {
  const history: Cart[] = [new Map()];
  for (const wish of wishes) {
    if (wish.act !== "undo") history.push(changed(articles, at(history, history.length - 1), wish));
    else if (history.length > 1) history.pop();
  }
  return at(history, history.length - 1);
}

function changed(articles: readonly Article[], before: Cart, wish: Exclude<Wish, { act: "undo" }>): Cart {
  const cart: Cart = new Map(before);
  const article = (kind: string, colour: string): string =>
    at(
      articles.filter((one) => one.kind === kind && one.colour === colour),
      0,
    ).id;
  const lines = (kind: string) => [...cart].filter(([id]) => recordOf(articles, id, "article").kind === kind);
  if (wish.act === "set") cart.set(article(wish.kind, wish.colour), wish.count);
  else if (wish.act === "more")
    cart.set(article(wish.kind, wish.colour), (cart.get(article(wish.kind, wish.colour)) ?? 0) + wish.count);
  else if (wish.act === "dearest") {
    const price = (id: string): number => recordOf(articles, id, "article").price;
    const [dearest] = [...cart.keys()].toSorted((a, b) => price(b) - price(a));
    if (dearest !== undefined) cart.delete(dearest);
  } else if (wish.act === "copy") {
    const [[, count] = ["", 0]] = lines(wish.from);
    if (count > 0) cart.set(article(wish.kind, wish.colour), count);
  } else {
    for (const [id, count] of lines(wish.kind)) {
      cart.delete(id);
      if (wish.act === "recolour") cart.set(article(wish.kind, wish.colour), count);
    }
  }
  return cart;
}

function cartAfter(instance: Instance, messages: number): Cart {
  return cartOf(
    instance,
    instance.messages.slice(0, messages).map(({ wish }) => wish),
  );
}

function share(instance: Instance, cart: Cart): number {
  const right = cartAfter(instance, instance.messages.length);
  return changedShare({}, Object.fromEntries(right), Object.fromEntries(cart));
}

function sorted(cart: Cart): [string, number][] {
  return [...cart].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Reads everything, looks the articles up, then enters the lines. */
function script({ articles, messages }: Instance, cart: Cart): Script {
  const kinds = [...new Set(articles.map(({ kind }) => kind))];
  return [
    ...messages.map((): Call => call("next_message")),
    ...kinds.map((kind) => call("find_articles", { kind })),
    ...batches(
      articles.map(({ id }) => id),
      20,
    ).map((some) => call("get_prices", { articles: some })),
    ...sorted(cart).map(([article, count]) => call("set_count", { article, count })),
  ];
}
