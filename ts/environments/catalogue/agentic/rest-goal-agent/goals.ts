/** What the goals of rest-goal-agent mean: the records that are wanted, in words and as a state, and the score of a state. */
import { at } from "../../lists.ts";
import { changedShare, type Facts } from "../records.ts";
import { type Api, type ApiRecord, fieldsOf, type Goal, hasQuirk, type Instance } from "./instance.ts";

/** An amount as the goals state it. */
export function coins(api: Api, amount: number): string {
  return hasQuirk(api, "minor") ? `${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, "0")}` : `${amount}`;
}

/** Records without ids that are not known yet: new ones are found by their names. */
export interface Wanted {
  readonly kept: readonly ApiRecord[];
  readonly made: readonly Omit<ApiRecord, "id" | "locked">[];
}

/** The parent of a record that does not exist yet is the name behind this mark. */
const NEW = "new ";

export function wantedBy({ api, records, goals }: Instance): Wanted {
  const [, { choice: middleChoice }, { choice: lowChoice }] = api.kinds;
  let kept = records.map((one) => ({ ...one }));
  const made: Omit<ApiRecord, "id" | "locked">[] = [];
  const original = new Map(records.map((one) => [one.id, one]));
  const refer = (name: string): string => records.find((one) => one.name === name)?.id ?? `${NEW}${name}`;
  for (const goal of goals)
    switch (goal.goal) {
      case "set":
        kept = kept.map((one) => {
          const above = original.get(one.parent ?? "");
          const before = original.get(one.id);
          const isMeant =
            one.level === 2 &&
            before?.fields[lowChoice] === goal.choice &&
            original.get(before.parent ?? "")?.fields[middleChoice] === goal.above;
          return isMeant && above !== undefined
            ? { ...one, fields: { ...one.fields, [api.amount]: goal.amount } }
            : one;
        });
        break;
      case "found":
        made.push({ level: 1, name: goal.name, parent: refer(goal.top), fields: { [middleChoice]: goal.choice } });
        break;
      case "add":
        made.push({
          level: 2,
          name: goal.name,
          parent: refer(goal.middle),
          fields: { [lowChoice]: goal.choice, [api.amount]: goal.amount },
        });
        break;
      case "mark":
        kept = kept.map((one) =>
          one.level === 0 && one.name === goal.top ? { ...one, fields: { [api.kinds[0].choice]: goal.choice } } : one,
        );
        break;
      case "clear":
        break;
    }
  // The others speak of the records at the beginning, so what is cleared goes last.
  for (const goal of goals) {
    if (goal.goal !== "clear") continue;
    const gone = new Set(clearedBy({ api, records }, goal).map(({ id }) => id));
    kept = kept
      .filter(({ id }) => !gone.has(id))
      .map((one) => (gone.has(one.parent ?? "") ? { ...one, parent: refer(goal.heir) } : one));
  }
  return { kept, made };
}

/** The middle records that a goal wants to be gone. */
export function clearedBy(
  { api, records }: Pick<Instance, "api" | "records">,
  goal: Extract<Goal, { readonly goal: "clear" }>,
): ApiRecord[] {
  const top = records.find((one) => one.name === goal.top)?.id;
  return records.filter(
    ({ level, parent, fields }) => level === 1 && parent === top && fields[api.kinds[1].choice] === goal.choice,
  );
}

/** Share of the necessary changes, less every other change; records that were made are compared by kind and name. */
export function grade(instance: Instance, end: readonly ApiRecord[]): number {
  return graderOf(instance)(end);
}

/** `grade` for many states of one instance. */
export function graderOf(instance: Instance): (end: readonly ApiRecord[]) => number {
  const before = factsOf(instance, instance.records);
  const goal = wantedFacts(instance, wantedBy(instance));
  return (end) => changedShare(before, goal, factsOf(instance, end));
}

/** Share of the records that a goal is about and that are as wanted, by the kind of goal. */
export function passedParts(instance: Instance, end: readonly ApiRecord[]): Record<string, number> {
  const is = factsOf(instance, end);
  const before = factsOf(instance, instance.records);
  const all = wantedFacts(instance, wantedBy(instance));
  const same = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
  const parts = instance.goals.map((goal): [string, number] => {
    const alone = wantedFacts(instance, wantedBy({ ...instance, goals: [goal] }));
    const keys = [...new Set([...Object.keys(before), ...Object.keys(alone)])];
    const about = keys.filter((key) => !same(before[key], alone[key]));
    return [goal.goal, about.filter((key) => same(all[key], is[key])).length / Math.max(1, about.length)];
  });
  const touched = Object.keys(before).filter((key) => same(before[key], all[key]));
  const unharmed = touched.filter((key) => same(before[key], is[key])).length / Math.max(1, touched.length);
  return { ...Object.fromEntries(parts), unharmed };
}

function wantedFacts(instance: Instance, { kept, made }: Wanted): Facts {
  return factsOf(instance, [...kept, ...made.map((one, index) => ({ ...one, id: `made ${index}`, locked: false }))]);
}

function factsOf({ api, records }: Instance, all: readonly ApiRecord[]): Facts {
  const known = new Set(records.map(({ id }) => id));
  const nameOf = new Map(all.map((one) => [one.id, one.name]));
  const names = ([0, 1, 2] as const).map((level) => fieldsOf(api, level));
  const text = ({ name, level, parent, fields, locked }: ApiRecord): string => {
    const above =
      parent === null || known.has(parent) ? parent : `${NEW}${nameOf.get(parent) ?? parent.slice(NEW.length)}`;
    return [name, above, ...at(names, level).map((one) => fields[one]), locked].join("|");
  };
  const facts: Record<string, string> = {};
  const made = new Map<string, string[]>();
  for (const one of all) {
    if (known.has(one.id)) facts[one.id] = text(one);
    else made.set(`${NEW}${one.level} ${one.name}`, [...(made.get(`${NEW}${one.level} ${one.name}`) ?? []), text(one)]);
  }
  for (const [key, texts] of made) facts[key] = texts.toSorted().join("\n");
  return facts;
}

/** The goals as a list of sentences. */
export function goalTexts({ api, goals }: Instance): string[] {
  const [top, middle, low] = api.kinds;
  return goals.map((goal) => {
    switch (goal.goal) {
      case "set":
        return `Every ${low.singular} whose ${low.choice} is ${goal.choice} and whose ${middle.singular} has the ${middle.choice} ${goal.above} has the ${api.amount} ${coins(api, goal.amount)}.`;
      case "clear":
        return `Every ${middle.singular} of the ${top.singular} ${goal.top} with the ${middle.choice} ${goal.choice} is deleted; the ${low.plural} that such ${middle.plural} have now belong to the ${middle.singular} ${goal.heir} instead, otherwise as they are.`;
      case "found":
        return `The ${top.singular} ${goal.top} has one more ${middle.singular}, ${goal.name}, with the ${middle.choice} ${goal.choice}.`;
      case "add":
        return `The ${middle.singular} ${goal.middle} has one more ${low.singular}, ${goal.name}: ${low.choice} ${goal.choice}, ${api.amount} ${coins(api, goal.amount)}.`;
      case "mark":
        return `The ${top.singular} ${goal.top} has the ${top.choice} ${goal.choice}.`;
    }
  });
}

/** The goal of this kind; there is at most one of each. */
export function goalOf<Kind extends Goal["goal"]>(
  { goals }: Pick<Instance, "goals">,
  kind: Kind,
): Extract<Goal, { readonly goal: Kind }> | null {
  return (goals.find(({ goal }) => goal === kind) as Extract<Goal, { readonly goal: Kind }> | undefined) ?? null;
}
