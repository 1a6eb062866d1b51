/** workshop-crafting: a product is made from a stock that is just enough, where parts can be made in several ways. */
import { z } from "zod";

import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, pageOf, pageStart, recordName, recordOf } from "../records.ts";

interface Recipe {
  id: string;
  makes: string;
  /** One product takes these. */
  takes: { part: string; count: number }[];
}

interface Instance {
  recipes: Recipe[];
  stock: Record<string, number>;
  goal: string;
  wanted: number;
  /** Recipes in an order that works. */
  plan: string[];
}

interface World {
  readonly instance: Instance;
  readonly stock: Map<string, number>;
}

/** By level: raw materials, layers of parts, parts of a layer, ways to make a part, products. */
const SIZES = [
  [3, 1, 2, 2, 1],
  [4, 1, 3, 2, 2],
  [5, 2, 2, 2, 2],
  [6, 2, 3, 2, 2],
  [7, 3, 3, 3, 2],
] as const;
const PAGE = 8;
const MOST_PLAN = 60;

const craftShape = z.object({ recipe: recordName });

const tools = {
  look_at_stock: worldTool<World, z.ZodObject>({
    description: "What there is",
    parameters: z.object({}),
    run: ({ stock }) => Object.fromEntries(stock),
  }),
  list_recipes: worldTool<World, typeof pageStart>({
    description: `Recipes, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance }, { from }) => pageOf(instance.recipes, from, PAGE),
  }),
  craft: worldTool<World, typeof craftShape>({
    description: "Makes one product of a recipe; it cannot be taken apart again",
    parameters: craftShape,
    run: ({ instance, stock }, { recipe: id }) => {
      const { takes, makes } = recordOf(instance.recipes, id, "recipe");
      const missing = takes.find(({ part, count }) => (stock.get(part) ?? 0) < count);
      if (missing !== undefined) throw new Refusal(`there is not enough ${missing.part}`);
      for (const { part, count } of takes) stock.set(part, (stock.get(part) ?? 0) - count);
      stock.set(makes, (stock.get(makes) ?? 0) + 1);
      return { [makes]: stock.get(makes) };
    },
  }),
};

export const workshopCrafting = defineWorldRow<Instance, World>({
  id: "workshop-crafting",
  asks: "make products from a stock that is just enough, choosing among recipes for the same part",
  make,
  effort: ({ plan, recipes }) => plan.length * recipes.length,
  canonical: ({ recipes, stock, wanted }) => [
    recipes.map(({ takes }) => takes.map(({ count }) => count)),
    Object.values(stock),
    wanted,
  ],
  prompts: [
    (one) =>
      `Make ${one.wanted} ${one.goal}. Parts can be made in several ways, each of which takes other things, and the stock is just enough for the right choice. What has been made cannot be taken apart.`,
    (one) =>
      `In the end there have to be ${one.wanted} ${one.goal} in the workshop. Look at the stock and at all recipes before you begin: a part often has more than one recipe, and a wrong choice uses up what is needed elsewhere. Nothing can be bought.`,
    (one) =>
      `Goal: ${one.wanted} x ${one.goal}. Materials are scarce. Plan backwards from the goal, choose the recipe for each part such that the raw materials suffice, then craft in an order in which everything is there when it is needed. Crafting is final.`,
    (one) =>
      `You run a workshop that has to deliver ${one.wanted} ${one.goal}. There are alternative recipes for the same thing. Exactly as much material is at hand as a right plan needs, so every craft counts; less than the whole delivery is worth nothing.`,
  ],
  tools,
  world: (instance) => ({ instance, stock: new Map(Object.entries(instance.stock)) }),
  gold: (instance) => script(instance, instance.plan),
  slips: (instance) => {
    const { plan } = instance;
    return {
      "one product too few": script(instance, plan.slice(0, -1)),
      "always the first recipe": script(instance, firstRecipes(instance)),
      "the plan from its end": script(instance, plan.toReversed()),
      "makes the first part twice": script(instance, [at(plan, 0), ...plan]),
    };
  },
  blankets: (instance) => ({
    "always the first recipe": script(instance, firstRecipes(instance)),
    "each recipe once": script(
      instance,
      instance.recipes.map(({ id }) => id),
    ),
    "each recipe until nothing is left": script(
      instance,
      instance.recipes.flatMap(({ id }) => range(6).map(() => id)),
    ),
  }),
  grade: ({ goal, wanted }, { stock }) => ((stock.get(goal) ?? 0) >= wanted ? 1 : 0),
});

function make(rng: Rng, level: Level): Instance | null {
  const [rawCount, layers, width, ways, wanted] = at(SIZES, level - 1);
  const names = distinct(rawCount + layers * width + 1, () => word(rng));
  const raw = names.slice(0, rawCount);
  const goal = at(names, names.length - 1);
  const ids = namesOf("recipe", layers * width * ways + 1, rng);
  const recipes: Recipe[] = [];
  let below = raw;
  const takesOf = (parts: readonly string[], count: number): Recipe["takes"] =>
    shuffled(parts, rng)
      .slice(0, count)
      .map((part) => ({ part, count: between(rng, 1, 2) }));
  for (const layer of range(layers)) {
    const parts = names.slice(rawCount + layer * width, rawCount + (layer + 1) * width);
    for (const makes of parts)
      for (const _ of range(ways))
        recipes.push({
          id: at(ids, recipes.length),
          makes,
          takes: takesOf(layer === 0 ? raw : [...below, at(raw, rng.integer(rawCount))], 2),
        });
    below = parts;
  }
  recipes.push({ id: at(ids, recipes.length), makes: goal, takes: takesOf(below, Math.min(2, below.length)) });
  const draft = { recipes: shuffled(recipes, rng), goal, wanted };
  const plan = range(wanted).flatMap(() => resolved(draft.recipes, goal, (some) => rng.pick(some)));
  if (plan.length > MOST_PLAN) return null;
  const used = rawUsed(draft.recipes, plan);
  const stock = Object.fromEntries(raw.map((part) => [part, used.get(part) ?? 0]));
  const instance = { ...draft, stock, plan };
  const lazy = [
    firstRecipes(instance),
    draft.recipes.map(({ id }) => id),
    draft.recipes.flatMap(({ id }) => range(6).map(() => id)),
    plan.toReversed(),
    [at(plan, 0), ...plan],
  ];
  return lazy.some((some) => isEnough(instance, some)) ? null : instance;
}

/** Recipes that make one of a part, parts first. */
function resolved(recipes: readonly Recipe[], part: string, choose: (some: readonly Recipe[]) => Recipe): string[] {
  const some = recipes.filter(({ makes }) => makes === part);
  if (some.length === 0) return [];
  const recipe = choose(some);
  return [
    ...recipe.takes.flatMap(({ part: inner, count }) => range(count).flatMap(() => resolved(recipes, inner, choose))),
    recipe.id,
  ];
}

function rawUsed(recipes: readonly Recipe[], plan: readonly string[]): Map<string, number> {
  const used = new Map<string, number>();
  for (const id of plan)
    for (const { part, count } of recordOf(recipes, id, "recipe").takes) used.set(part, (used.get(part) ?? 0) + count);
  return used;
}

/** Whether the crafts that are possible, in this order, give the products. */
function isEnough({ recipes, stock, goal, wanted }: Instance, plan: readonly string[]): boolean {
  const now = new Map(Object.entries(stock));
  for (const id of plan) {
    const { takes, makes } = recordOf(recipes, id, "recipe");
    if (takes.some(({ part, count }) => (now.get(part) ?? 0) < count)) continue;
    for (const { part, count } of takes) now.set(part, (now.get(part) ?? 0) - count);
    now.set(makes, (now.get(makes) ?? 0) + 1);
  }
  return (now.get(goal) ?? 0) >= wanted;
}

function firstRecipes({ recipes, goal, wanted }: Instance): string[] {
  return range(wanted).flatMap(() => resolved(recipes, goal, (some) => at(some, 0)));
}

function script({ recipes }: Instance, plan: readonly string[]): Script {
  return [
    call("look_at_stock"),
    ...range(Math.ceil(recipes.length / PAGE)).map((page) => call("list_recipes", { from: page * PAGE })),
    ...plan.map((recipe): Call => call("craft", { recipe })),
  ];
}
