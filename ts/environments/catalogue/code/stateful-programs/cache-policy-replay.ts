/** cache-policy-replay: the answers of a cache with a described policy of eviction, expiry, weights and pins. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { range } from "../../lists.ts";
import { functionRow } from "../function-row.ts";
import type { Json } from "../json.ts";
import { numbered } from "../prose.ts";

type Eviction = "oldest" | "stalest" | "rarest" | "freshest";
interface Spec {
  readonly capacity: number;
  /** The answer of a get of a key that is not there. */
  readonly absent: number;
  readonly eviction: Eviction;
  /** A put of a key that is there counts as a use. */
  readonly putUses: boolean;
  /** A put of a key that is there makes it new. */
  readonly putRenews: boolean;
  /** Ticks after which an entry is gone; null: never. */
  readonly life: number | null;
  /** A get starts the life of the entry again. */
  readonly getExtends: boolean;
  /** The capacity counts weights, which are value % 3 + 1. */
  readonly isWeighted: boolean;
  readonly hasPins: boolean;
}
interface Entry {
  readonly key: string;
  value: number;
  /** Numbers of the operations. */
  born: number;
  used: number;
  uses: number;
  /** Tick from which on it is gone. */
  ends: number;
  pinned: boolean;
}

const EVICTIONS: Readonly<Record<Eviction, string>> = {
  oldest: "the entry that is new since the longest time",
  stalest: "the entry whose last use is longest ago (a put that makes an entry new is a use)",
  rarest:
    "the entry with the fewest uses (a put that makes an entry new sets them to 1), and of several the one that is new since the longest time",
  freshest: "the entry whose last use is most recent (a put that makes an entry new is a use)",
};
const KEYS = ["a", "b", "c", "d", "e", "f"];

export const cachePolicyReplay = functionRow<Spec>({
  id: "cache-policy-replay",
  asks: "the answers of a cache with described eviction, expiry, weights and pinned entries",
  name: "replay",
  parameters: ["operations"],
  make(rng, level) {
    return {
      capacity: level < 3 ? between(rng, 2, 4) : between(rng, 4, 7),
      absent: -between(rng, 1, 99),
      eviction: rng.pick(
        level < 3 ? (["oldest", "stalest"] as const) : (["oldest", "stalest", "rarest", "freshest"] as const),
      ),
      putUses: rng.integer(2) === 0,
      putRenews: rng.integer(2) === 0,
      life: level > 1 ? between(rng, 3, 7) : null,
      getExtends: level > 1 && rng.integer(2) === 0,
      isWeighted: level === 3 || level === 5,
      hasPins: level > 3,
    };
  },
  effort: ({ eviction, life, putRenews, isWeighted, hasPins }) =>
    4 +
    Number(eviction !== "oldest") +
    2 * Number(putRenews) +
    6 * Number(life !== null) +
    6 * Number(isWeighted) +
    9 * Number(hasPins),
  stories: [
    () => "A service logs all operations on its cache; we want to replay such logs.",
    () => "The cache of a small server follows rules that differ from the well-known ones.",
    () => "To find out why a page was stale, somebody simulates the cache.",
    () => "Here is how a cache decides what to keep.",
  ],
  rules: (spec) => numbered(rulesOf(spec)),
  types: ({ life, hasPins, absent }) =>
    `The argument is a list of operations: ["put", key, value], ["get", key], ["drop", key]${life === null ? "" : ', ["tick", n]'}${hasPins ? ', ["pin", key], ["unpin", key]' : ""} and ["keys"]. The result is a list with one element for each get (the value, or ${absent} if the key is not there) and for each keys (the list of all keys in alphabetical order), in the order of the operations.`,
  calls(spec, rng) {
    const some = (length: number): [Json][] => range(8).map(() => [operationsOf(spec, length, rng)]);
    return { short: some(10), medium: some(20), busy: some(35), long: some(70) };
  },
  solve: (spec, [operations]) => replay(spec, operations as readonly (readonly [string, string, number])[]),
  python,
  slips: (spec) => [
    ...(["oldest", "stalest", "rarest", "freshest"] as const).map((eviction) => ({ ...spec, eviction })),
    { ...spec, putUses: !spec.putUses },
    { ...spec, putRenews: !spec.putRenews },
    { ...spec, getExtends: !spec.getExtends },
    { ...spec, life: spec.life === null ? null : spec.life + 1 },
    { ...spec, capacity: spec.capacity + 1 },
    { ...spec, hasPins: false },
    { ...spec, isWeighted: false },
  ],
});

function rulesOf({ capacity, eviction, putUses, putRenews, life, getExtends, isWeighted, hasPins }: Spec): string[] {
  const amount = isWeighted
    ? `entries whose weights add up to at most ${capacity}; the weight of an entry is 1 plus the remainder of its value divided by 3`
    : `at most ${capacity} entries`;
  const same = putRenews
    ? "makes the entry new, as if its key had not been there"
    : `changes its value${putUses ? " and counts as a use" : ", which is no use"}, and the entry stays as old as it was`;
  return [
    `The cache holds ${amount}.`,
    `put of a key that is not there adds a new entry with one use. put of a key that is there ${same}.`,
    "get of a key that is there is a use. drop removes the entry, if there is one.",
    ...(life === null
      ? []
      : [
          `Time stands still but for tick, which lets n ticks pass. A new entry is gone once ${life} ticks have passed since it became new${getExtends ? "; a get of it starts this count again" : ""}.`,
        ]),
    ...(hasPins
      ? [
          "pin protects the entry of its key, if it is there, from the next rule, until unpin, drop, its expiry, or a put that makes it new.",
        ]
      : []),
    `If a put has made the cache too large, entries are removed one by one until it is not: each time ${EVICTIONS[eviction]}, but never the entry of this put${hasPins ? " or a pinned one; if no entry can be removed, the entry of this put is removed instead" : ""}.${isWeighted && !hasPins ? " If no other entry is left, it may stay although it is too heavy." : ""}`,
  ];
}

function operationsOf({ life, hasPins }: Spec, length: number, rng: Rng): Json {
  return [
    ...range(length).map((): Json => {
      const kind = rng.pick([
        "put",
        "put",
        "put",
        "get",
        "get",
        "get",
        "drop",
        "keys",
        ...(life === null ? [] : ["tick", "tick"]),
        ...(hasPins ? ["pin", "unpin"] : []),
      ]);
      if (kind === "keys") return [kind];
      if (kind === "tick") return [kind, between(rng, 1, 3)];
      return kind === "put" ? [kind, rng.pick(KEYS), between(rng, 1, 99)] : [kind, rng.pick(KEYS)];
    }),
    ["keys"],
  ];
}

/** The entry that leaves; undefined where none may. */
function victim(entries: readonly Entry[], spec: Spec, kept: string): Entry | undefined {
  const score = (one: Entry): number =>
    ({ oldest: one.born, stalest: one.used, rarest: one.uses * 1e6 + one.born, freshest: -one.used })[spec.eviction];
  return entries
    .filter((one) => one.key !== kept && !(spec.hasPins && one.pinned))
    .toSorted((a, b) => score(a) - score(b))[0];
}

function replay(spec: Spec, operations: readonly (readonly [string, string, number])[]): Json {
  let entries: Entry[] = [];
  let clock = 0;
  const out: Json[] = [];
  const ends = (): number => (spec.life === null ? Number.POSITIVE_INFINITY : clock + spec.life);
  const size = (): number => entries.reduce((sum, { value }) => sum + (spec.isWeighted ? (value % 3) + 1 : 1), 0);
  for (const [now, [kind, key, value]] of operations.entries()) {
    if (kind === "tick") {
      clock += Number(key);
      entries = entries.filter((one) => one.ends > clock);
    }
    const found = entries.find((one) => one.key === key);
    if (kind === "keys") out.push(entries.map((one) => one.key).toSorted((a, b) => (a < b ? -1 : 1)));
    if (kind === "drop") entries = entries.filter((one) => one !== found);
    if ((kind === "pin" || kind === "unpin") && found !== undefined) found.pinned = kind === "pin";
    if (kind === "get") {
      out.push(found?.value ?? spec.absent);
      if (found !== undefined) {
        found.used = now;
        found.uses += 1;
        if (spec.getExtends) found.ends = ends();
      }
    }
    if (kind !== "put") continue;
    if (found !== undefined && !spec.putRenews) {
      found.value = value;
      if (spec.putUses) {
        found.used = now;
        found.uses += 1;
      }
    } else
      entries = [
        ...entries.filter((one) => one !== found),
        { key, value, born: now, used: now, uses: 1, ends: ends(), pinned: false },
      ];
    while (size() > spec.capacity) {
      const leaving = victim(entries, spec, key);
      if (leaving === undefined && !spec.hasPins) break;
      entries = entries.filter((one) => one.key !== (leaving?.key ?? key));
    }
  }
  return out;
}

function python(spec: Spec): string {
  const key = { oldest: "e['born']", stalest: "e['used']", rarest: "(e['uses'], e['born'])", freshest: "-e['used']" }[
    spec.eviction
  ];
  const weight = spec.isWeighted ? "e['value'] % 3 + 1" : "1";
  const life = spec.life === null ? "float('inf')" : `clock + ${spec.life}`;
  return [
    "def replay(operations):",
    "    cache, clock, out = {}, 0, []",
    "    for now, (kind, *rest) in enumerate(operations):",
    "        key = rest[0] if rest else None",
    "        if kind == 'tick':",
    "            clock += key",
    "            cache = {k: e for k, e in cache.items() if e['ends'] > clock}",
    "        elif kind == 'keys':",
    "            out.append(sorted(cache))",
    "        elif kind == 'drop':",
    "            cache.pop(key, None)",
    "        elif kind in ('pin', 'unpin'):",
    "            if key in cache:",
    "                cache[key]['pinned'] = kind == 'pin'",
    "        elif kind == 'get':",
    `            out.append(cache[key]['value'] if key in cache else ${spec.absent})`,
    "            if key in cache:",
    "                cache[key]['used'] = now",
    "                cache[key]['uses'] += 1",
    ...(spec.getExtends ? [`                cache[key]['ends'] = ${life}`] : []),
    "        else:",
    `            if key in cache and not ${spec.putRenews ? "True" : "False"}:`,
    "                cache[key]['value'] = rest[1]",
    ...(spec.putUses ? ["                cache[key]['used'] = now", "                cache[key]['uses'] += 1"] : []),
    "            else:",
    `                cache[key] = dict(value=rest[1], born=now, used=now, uses=1, ends=${life}, pinned=False)`,
    `            while sum(${weight} for e in cache.values()) > ${spec.capacity}:`,
    `                others = [(k, e) for k, e in cache.items() if k != key${spec.hasPins ? " and not e['pinned']" : ""}]`,
    "                if others:",
    `                    del cache[min(others, key=lambda one: (lambda e: ${key})(one[1]))[0]]`,
    "                else:",
    ...(spec.hasPins ? ["                    del cache[key]"] : ["                    break"]),
    "    return out",
  ].join("\n");
}
