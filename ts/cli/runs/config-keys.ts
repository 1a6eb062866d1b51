/** Keys of resolved configs: those that say most about a run, and those in which runs differ. */
import { asObject, type JsonObject } from "./json-lines.ts";

const HIGHLIGHTS = [
  "model.name",
  "seed",
  "max_steps",
  "max_async_level",
  "seq_len",
  "orchestrator.batch_size",
  "orchestrator.group_size",
  "orchestrator.algo.type",
  "orchestrator.train.source.0.name",
  "orchestrator.train.source.1.name",
  "orchestrator.train.source.2.name",
  "orchestrator.train.sampling.temperature",
  "orchestrator.train.sampling.max_completion_tokens",
  "trainer.loss.type",
  "trainer.optim.type",
  "trainer.optim.lr",
  "trainer.scheduler.type",
  "inference.replicas",
  "loss.type",
  "optim.type",
  "optim.lr",
  "scheduler.type",
  "data.batch_size",
] as const;
/** Keys that say where a run is, not what it does. */
const PLACES: ReadonlySet<string> = new Set(["output_dir", "run.name", "clean"]);

/** Leaves by dotted key; elements of lists have their number as key; an empty list or block is a leaf. */
export function flatten(config: JsonObject): Map<string, unknown> {
  const leaves = new Map<string, unknown>();
  const visit = (value: unknown, key: string): void => {
    const block =
      Array.isArray(value) && value.some((each) => asObject(each) !== null)
        ? Object.assign({}, value)
        : asObject(value);
    const entries = Object.entries(block ?? {});
    if (entries.length === 0) leaves.set(key, value);
    for (const [name, inner] of entries) visit(inner, key === "" ? name : `${key}.${name}`);
  };
  for (const [name, value] of Object.entries(config)) visit(value, name);
  return leaves;
}

/** The most important keys that the config has. */
export function highlights(config: JsonObject): [key: string, value: unknown][] {
  const leaves = flatten(config);
  return HIGHLIGHTS.filter((key) => leaves.has(key)).map((key) => [key, leaves.get(key)]);
}

export interface Difference {
  key: string;
  /** One value per config; undefined: the config lacks the key. */
  values: unknown[];
}

/** Keys whose values are not the same in all configs; a section's copy of a shared key, such as `trainer.seed`, is left out. */
export function differences(configs: readonly JsonObject[]): Difference[] {
  const leaves = configs.map(flatten);
  const keys = [...new Set(leaves.flatMap((each) => [...each.keys()]))].toSorted();
  const isCopy = (key: string): boolean => {
    const shared = key.slice(key.indexOf(".") + 1);
    return (
      key !== shared &&
      (PLACES.has(shared) || leaves.every((each) => each.has(shared) && same(each, key, each, shared)))
    );
  };
  return keys
    .filter(
      (key) => !PLACES.has(key) && leaves.some((each) => !same(each, key, leaves[0] ?? each, key)) && !isCopy(key),
    )
    .map((key) => ({ key, values: leaves.map((each) => each.get(key)) }));
}

export function valueText(value: unknown): string {
  if (value === undefined) return "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function same(a: Map<string, unknown>, keyA: string, b: Map<string, unknown>, keyB: string): boolean {
  return valueText(a.get(keyA)) === valueText(b.get(keyB)) && a.has(keyA) === b.has(keyB);
}
