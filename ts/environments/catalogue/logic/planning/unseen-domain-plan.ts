/** unseen-domain-plan: a plan in a domain of drawn actions, whose names carry no meaning. States are bit sets of facts. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { PLAN_RULES, type PlanInstance, planRow } from "./plan-row.ts";
import { layersOf, shortestPlan, type Step } from "./search.ts";

/** A condition or effect: a predicate of the action's n-th parameter. */
interface Literal {
  predicate: number;
  parameter: number;
  value: boolean;
}

interface Action {
  name: string;
  parameters: number;
  needs: Literal[];
  makes: Literal[];
}

interface Instance extends PlanInstance {
  objects: string[];
  predicates: string[];
  actions: Action[];
  /** Facts that hold at first, and the goal: `[predicate, object, value]`. */
  start: number;
  goal: [number, number, boolean][];
}

type Domain = Pick<Instance, "objects" | "predicates" | "actions">;

/** By level: objects, predicates, actions, least and most steps. */
const SIZES = [
  [2, 3, 3, 3, 3],
  [2, 4, 4, 4, 5],
  [3, 3, 5, 5, 6],
  [3, 4, 5, 6, 8],
  [3, 5, 6, 8, 13],
] as const;
const MOST_STATES = 6_000;

export const unseenDomainPlan = planRow<Instance>({
  id: "unseen-domain-plan",
  asks: "a shortest plan in an invented domain that is given as action schemas",
  make,
  prompts: [
    (one) =>
      `In an invented world the objects are ${one.objects.join(", ")}. An object can be ${one.predicates.join(", ")}, several of these at once or none.\n\nThese actions exist:\n${actionList(one)}\n\nAt first: ${factText(one, one.start)}. Everything else is false.\nGoal: ${goalText(one)}.\n\nPlan how to get from the start to the goal. A step is the action's name and its objects, such as \`name object\`; two objects of a step are different ones. ${PLAN_RULES[0]}`,
    (one) =>
      `Find a plan.\n\nGoal: ${goalText(one)}\nTrue at the start: ${factText(one, one.start)} (all other facts are false)\nObjects: ${one.objects.join(" ")}\nProperties of objects: ${one.predicates.join(" ")}\n\nActions, with what must hold before and what changes:\n${actionList(one)}\n\nWrite a step as the action followed by its objects, which are different ones, with spaces between. ${PLAN_RULES[1]}`,
    (one) =>
      `You operate a machine whose manual has only this:\n${actionList(one)}\n\nThe parts of the machine are ${one.objects.join(", ")}, and a part may be ${one.predicates.join(" or ")}. Two parameters of one action are always different parts.\n\nRight now ${factText(one, one.start)}, and nothing else holds. We want that ${goalText(one)}.\n\nWhich actions, on which parts, get us there? Name the action first, then its parts in the order of the parameters. ${PLAN_RULES[2]}`,
    (one) =>
      `Planning problem.\nobjects = {${one.objects.join(", ")}}\nproperties = {${one.predicates.join(", ")}}\ninitial state = {${factText(one, one.start)}}; facts that are not listed are false\ngoal = {${goalText(one)}}\nactions:\n${actionList(one)}\n\nAn action can be used only when all that it needs holds. Steps are written \`action object\` or \`action object object\`, with different objects. ${PLAN_RULES[3]}`,
  ],
  run(instance, steps, reached) {
    const table = new Map(grounded(instance).map((one) => [one.label, one]));
    let state = instance.start;
    const goal = masksOf(instance, instance.goal);
    for (const step of steps) {
      const action = table.get(step.replaceAll(/\s+/gu, " ").toLowerCase());
      if (action === undefined || !holds(state, action)) return false;
      state = (state | action.adds) & ~action.removes;
      reached(holds(state, goal));
    }
    return true;
  },
});

interface Masks {
  readonly on: number;
  readonly off: number;
}
interface Grounded extends Masks {
  readonly label: string;
  readonly adds: number;
  readonly removes: number;
}

function make(rng: Rng, level: Level): Instance | null {
  const [objectCount, predicateCount, actionCount, least, most] = at(SIZES, level - 1);
  const words = distinct(objectCount + predicateCount + actionCount, () => word(rng, 1 + rng.integer(2)));
  const objects = words.slice(0, objectCount);
  const predicates = words.slice(objectCount, objectCount + predicateCount);
  const actions = words.slice(objectCount + predicateCount).map((name) => drawAction(name, predicateCount, rng));
  const domain = { objects, predicates, actions };
  const facts = objectCount * predicateCount;
  const start = range(facts).reduce((bits, fact) => (rng.integer(3) === 0 ? bits | (1 << fact) : bits), 0);
  const next = nextOf(domain);
  const layers = layersOf({ start, next, key: (state) => state }, MOST_STATES, most + 1);
  const wanted = Math.min(between(rng, least, most + 1), layers.length - 1);
  const layer = layers[wanted] ?? [];
  if (wanted < least || layer.length === 0) return null;
  const target = rng.pick(layer);
  const all = range(facts).map((fact): [number, number, boolean] => [
    Math.floor(fact / objectCount),
    fact % objectCount,
    (target & (1 << fact)) !== 0,
  ]);
  const changed = all.filter(
    ([predicate, object, value]) => value !== ((start & (1 << (predicate * objectCount + object))) !== 0),
  );
  const goal = shuffled([...sample(changed, 2 + level, rng), rng.pick(all)], rng).filter(
    ([predicate, object], index, facing) =>
      facing.findIndex((other) => other[0] === predicate && other[1] === object) === index,
  );
  const masks = masksOf(domain, goal);
  const found = shortestPlan(
    { start, next, key: (state) => state, isGoal: (state) => holds(state, masks) },
    MOST_STATES,
  );
  if (found === null || found.plan.length < least || found.plan.length > most) return null;
  return { ...domain, start, goal, ...found };
}

function drawAction(name: string, predicates: number, rng: Rng): Action {
  const parameters = 1 + rng.integer(2);
  const literals = (count: number): Literal[] =>
    sample(range(predicates * parameters), count, rng).map((slot) => ({
      predicate: slot % predicates,
      parameter: Math.floor(slot / predicates),
      value: rng.integer(2) === 0,
    }));
  return { name, parameters, needs: literals(1 + rng.integer(2)), makes: literals(1 + rng.integer(2)) };
}

function grounded({ objects, actions }: Domain): Grounded[] {
  return actions.flatMap(({ name, parameters, needs, makes }) => {
    const choices = range(objects.length).flatMap((a) =>
      parameters === 1
        ? [[a]]
        : range(objects.length)
            .filter((b) => b !== a)
            .map((b) => [a, b]),
    );
    return choices.map((chosen): Grounded => {
      const bit = ({ predicate, parameter }: Literal): number =>
        1 << (predicate * objects.length + at(chosen, parameter));
      const all = (literals: readonly Literal[], value: boolean): number =>
        literals.filter((one) => one.value === value).reduce((bits, one) => bits | bit(one), 0);
      return {
        label: [name, ...chosen.map((index) => at(objects, index))].join(" "),
        on: all(needs, true),
        off: all(needs, false),
        adds: all(makes, true),
        removes: all(makes, false),
      };
    });
  });
}

function nextOf(domain: Domain): (state: number) => Iterable<Step<number>> {
  const actions = grounded(domain);
  return (state) =>
    actions
      .filter((action) => holds(state, action))
      .map(({ label, adds, removes }) => ({ label, state: (state | adds) & ~removes }));
}

function masksOf({ objects }: Pick<Domain, "objects">, facts: Instance["goal"]): Masks {
  const all = (value: boolean): number =>
    facts
      .filter((one) => one[2] === value)
      .reduce((bits, [predicate, object]) => bits | (1 << (predicate * objects.length + object)), 0);
  return { on: all(true), off: all(false) };
}

function holds(state: number, { on, off }: Masks): boolean {
  return (state & on) === on && (state & off) === 0;
}

function actionList({ predicates, actions }: Domain): string {
  const names = ["X", "Y"];
  const text = ({ predicate, parameter, value }: Literal): string =>
    `${at(names, parameter)} is ${value ? "" : "not "}${at(predicates, predicate)}`;
  return actions
    .map(({ name, parameters, needs, makes }) => {
      const head = [name, ...names.slice(0, parameters)].join(" ");
      return `- ${head}: needs that ${needs.map(text).join(" and ")}; then ${makes.map(text).join(" and ")}`;
    })
    .join("\n");
}

function factText({ objects, predicates }: Domain, state: number): string {
  const facts = range(objects.length * predicates.length)
    .filter((fact) => (state & (1 << fact)) !== 0)
    .map((fact) => `${at(objects, fact % objects.length)} is ${at(predicates, Math.floor(fact / objects.length))}`);
  return facts.length === 0 ? "no fact is true" : facts.join(", ");
}

function goalText({ objects, predicates, goal }: Instance): string {
  return goal
    .map(([predicate, object, value]) => `${at(objects, object)} is ${value ? "" : "not "}${at(predicates, predicate)}`)
    .join(", ");
}
