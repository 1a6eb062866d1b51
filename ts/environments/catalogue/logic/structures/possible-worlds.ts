/** possible-worlds: in which worlds of a model with several accessibility relations modal formulas hold. */
import { firstDrawn } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { atOnePlace, type Formula, formulaText, randomFormula, sizeOf, truthOf } from "./formulas.ts";

interface Given {
  /** Atoms that hold in each world. */
  worlds: string[][];
  /** `arrows[a][w]`: worlds that agent `a` holds possible in `w`. */
  arrows: number[][][];
  formulas: Formula[];
}

/** By level: worlds, agents, formulas, depth. */
const SIZES = [
  [4, 1, 2, 2],
  [5, 2, 3, 3],
  [7, 2, 3, 4],
  [9, 3, 4, 5],
  [11, 3, 4, 7],
] as const;

/** Formulas of which one is neither true everywhere nor nowhere. */
const TRIES = 60;

export const possibleWorlds = fieldRow<Given>({
  id: "possible-worlds",
  asks: "in which worlds of a model formulas about belief of several agents hold",
  draw,
  solve,
  values: ({ worlds }) => `each value lists the worlds, among w1 to w${worlds.length}, in which the formula is true`,
  wordings: [
    (one) => `${modelText(one)}\n\n${RULE} In which worlds are these formulas true?\n${formulaList(one)}`,
    (one) => `Formulas:\n${formulaList(one)}\n\n${RULE}\n\nEvaluate them everywhere in the model\n${modelText(one)}`,
    (one) =>
      `${RULE}\nWhat the agents hold possible is given by\n${modelText(one)}\nSay of each of these sentences where it is true:\n${formulaList(one)}`,
    (one) =>
      `Model checking for a logic of belief. Compute the truth sets of\n${formulaList(one)}\n${modelText(one)}\nSemantics: ${RULE}`,
  ],
});

const RULE =
  "Ba f (agent a believes f) is true in a world when f is true in all worlds that a holds possible there, in particular when there are none; Da f is true when f is true in at least one world that a holds possible there. The same goes for the other agents; not, and, or, implies are as usual, and a prefix operator applies to the shortest formula behind it.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, agents, formulas, depth] = at(SIZES, level - 1);
  const names = ["a", "b", "c"].slice(0, agents);
  const kind = {
    atoms: ["p", "q", "r"],
    unary: [...names.flatMap((name) => [`B${name}`, `D${name}`]), "not"],
    binary: ["and", "or", "implies"],
  };
  const model = {
    worlds: range(count).map(() => kind.atoms.filter(() => rng.integer(2) === 0)),
    arrows: names.map(() => range(count).map(() => range(count).filter(() => rng.integer(count) < 2))),
    formulas: [],
  };
  const drawn = range(formulas).map(() =>
    firstDrawn(TRIES, () => {
      const formula = randomFormula(kind, depth, rng);
      return new Set(places(model, formula, false)).size === 2 ? formula : null;
    }),
  );
  return drawn.includes(null) ? null : { ...model, formulas: drawn.filter((one) => one !== null) };
}

function places({ worlds, arrows }: Given, formula: Formula, isFlipped: boolean): boolean[] {
  return truthOf(
    formula,
    (atom) => worlds.map((held) => held.includes(atom)),
    (op, parts) => {
      const plain = atOnePlace(op, parts);
      if (plain !== null) return plain;
      const [truth = []] = parts;
      const sees = at(arrows, "abc".indexOf(op[1] ?? ""));
      return range(worlds.length).map((world) => {
        const seen = isFlipped
          ? range(worlds.length).filter((from) => at(sees, from).includes(world))
          : at(sees, world);
        return op.startsWith("B") ? seen.every((other) => at(truth, other)) : seen.some((other) => at(truth, other));
      });
    },
  );
}

function solve(given: Given): Solution | null {
  const { worlds, formulas } = given;
  const marks = range(worlds.length).map((world) => `w${world + 1}`);
  const named = (truth: readonly boolean[]): string => marked(marks.filter((_, world) => at(truth, world)));
  const values = formulas.map((formula) => named(places(given, formula, false)));
  const flipped = formulas.map((formula) => named(places(given, formula, true)));
  if (values.some((value) => value === "" || value === marked(marks)) || new Set(values).size < values.length)
    return null;
  const inverse = values.map((value) => marked(marks.filter((mark) => !value.split(", ").includes(mark))));
  return {
    fields: values.map((value, index) => ({ name: `f${index + 1}`, kind: "set", value, options: marks })),
    slips: [inverse, ...(flipped.join(";") === values.join(";") || flipped.includes("") ? [] : [flipped])],
    steps: worlds.length * formulas.reduce((sum, formula) => sum + sizeOf(formula), 0),
  };
}

function modelText({ worlds, arrows }: Given): string {
  return worlds
    .map((held, world) => {
      const sights = arrows.map((sees, agent) => {
        const seen = at(sees, world).map((other) => `w${other + 1}`);
        return `${"abc"[agent]} holds possible ${seen.length === 0 ? "no world" : seen.join(", ")}`;
      });
      return `w${world + 1}: true are ${held.length === 0 ? "no atoms" : held.join(", ")}; ${sights.join("; ")}`;
    })
    .join("\n");
}

function formulaList({ formulas }: Given): string {
  return formulas.map((formula, index) => `f${index + 1}: ${formulaText(formula)}`).join("\n");
}
