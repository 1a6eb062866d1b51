/** equational-derivation: one term is derived from another in a drawn theory, step by step, with lemmas where they pay. */
import { at, range } from "../../lists.ts";
import { defineRow, type Family, type Row } from "../../row.ts";
import { drawInstance, type Instance, problemOf } from "./generator.ts";
import { stepsIn } from "./proof.ts";
import { isStep, parsed, printed } from "./terms.ts";
import { canonicalTheory } from "./theory.ts";
import { PROMPTS } from "./wordings.ts";

const row: Row = defineRow<Instance>({
  id: "equational-derivation",
  asks: "a derivation of one term from another by the equations of a drawn theory, with lemmas where they pay",
  place: "answer",
  make: drawInstance,
  effort: ({ seen }) => seen,
  canonical: ({ theory }) => canonicalTheory(theory),
  prompts: PROMPTS,
  gold: ({ proof }) => proof.join("\n"),
  nearMisses,
  variants: ({ proof }) => [
    proof.map((line, index) => `${index + 1}. ${line}`).join("\n"),
    proof.map((line) => `  ${line.replaceAll(", ", ",")}`).join("\n\n"),
    proof.map((line) => line.replaceAll(/[(),]/gu, " $& ")).join("\n"),
  ],
  score: (instance, answer) => {
    const steps = stepsIn(answer, problemOf(instance));
    return steps === null ? 0 : Math.min(1, (1 + instance.steps / steps) / 2);
  },
});

export const equationalDerivation: Family = { id: "equational-derivation", rows: [row] };

function nearMisses(instance: Instance): string[] {
  const { proof, from, to } = instance;
  const first = proof.findIndex((line) => line.startsWith("A"));
  const begin = first > 0 ? lemmaStart(instance) : printed(from);
  const detour = [...proof.slice(0, first + 1), undone(proof, first, begin), ...proof.slice(first)];
  return [
    proof.slice(0, -1),
    proof.slice(1),
    proof.filter((_, index) => index !== Math.floor(proof.length / 2)),
    misnamed(instance, first, begin),
    detour,
    ["A1: ".concat(printed(to))],
    [`lemma L1: ${printed(from)} = ${printed(to)}`, "qed", `L1: ${printed(to)}`],
    [`lemma L1: ${printed(from)} = ${printed(to)}`, `L1: ${printed(to)}`, "qed", `L1: ${printed(to)}`],
  ]
    .map((lines) => lines.join("\n"))
    .filter((text) => stepsIn(text, problemOf(instance)) !== instance.steps);
}

function lemmaStart({ proof }: Instance): string {
  return /: (.*) = /u.exec(at(proof, 0))?.[1] ?? "";
}

/** The step back over a line. */
function undone(proof: readonly string[], line: number, begin: string): string {
  return `${at(proof, line).split(":")[0] ?? ""}: ${begin}`;
}

/** The derivation with an equation's name at its first step that does not lead there. */
function misnamed(instance: Instance, line: number, begin: string): string[] {
  const { equations, arities } = problemOf(instance);
  const text = at(instance.proof, line).replace(/^A\d+: /u, "");
  const [before, after] = [parsed(begin, arities), parsed(text, arities)];
  const other = range(equations.size).find((index) => {
    const equation = equations.get(`A${index + 1}`);
    return before !== null && after !== null && equation !== undefined && !isStep(equation, before, after);
  });
  const name = other === undefined ? "A99" : `A${other + 1}`;
  return instance.proof.map((one, index) => (index === line ? `${name}: ${text}` : one));
}
