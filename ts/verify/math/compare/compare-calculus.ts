/** Integrals, limits and sums that have no value here: equal when their parts are, or by their derivative. */
import { differentiate } from "../values/differentiate.ts";
import { type Expression, mapNodes, mapSymbols, type Same, sameTree, some } from "../values/expression.ts";

type Call = Expression & { kind: "call" };

const FORMS = new Set(["integral", "antiderivative", "limit", "sum", "prod"]);
export const isForm = (one: Expression): one is Call => one.kind === "call" && FORMS.has(one.name);

const isAntiderivative = (one: Expression): one is Call => one.kind === "call" && one.name === "antiderivative";

/** An indefinite integral against a function: its derivative is what is integrated. */
export function sameAntiderivative(gold: Expression, answer: Expression, same: Same): boolean {
  const [task, result] = isAntiderivative(gold) ? [gold, answer] : [answer, gold];
  if (!isAntiderivative(task) || some(result, isAntiderivative)) return false;
  const [body, variable] = task.args;
  if (body === undefined || variable?.kind !== "symbol") return false;
  const slope = differentiate(result, variable.name);
  return slope !== null && same(body, slope);
}

/** With integrals, limits and sums whose parts are equal taken for the same unknown. */
export function sameForms(gold: Expression, answer: Expression, same: Same): boolean {
  if (!some(gold, isForm) || !some(answer, isForm)) return false;
  const known: Call[] = [];
  const nameOf = (form: Call): Expression => {
    const index = known.findIndex((other) => sameForm(other, form, same));
    if (index < 0) known.push(form);
    return { kind: "symbol", name: `form ${index < 0 ? known.length - 1 : index}` };
  };
  const replaced = (node: Expression): Expression | null => (isForm(node) ? nameOf(node) : null);
  return same(mapNodes(gold, replaced), mapNodes(answer, replaced));
}

function sameForm(a: Call, b: Call, same: Same): boolean {
  if (a.name !== b.name || a.args.length !== b.args.length) return false;
  const [body, variable, ...bounds] = a.args;
  const [otherBody, otherVariable, ...otherBounds] = b.args;
  if (body === undefined || otherBody === undefined || variable === undefined || otherVariable === undefined)
    return false;
  if (!bounds.every((one, index) => sameBound(one, otherBounds[index], same))) return false;
  const [name, otherName] = [variable, otherVariable].map((one) => (one.kind === "text" ? one.text : ""));
  const renamed = mapSymbols(otherBody, (one) => ({ kind: "symbol", name: one === otherName && name ? name : one }));
  return same(body, renamed) || sameForms(body, renamed, same);
}

function sameBound(a: Expression, b: Expression | undefined, same: Same): boolean {
  return b !== undefined && (sameTree(a, b) || same(a, b));
}
