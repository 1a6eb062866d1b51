/** shared-cache-verdicts: which requests a shared HTTP cache answers alone, which it revalidates, and which it forwards. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Resource {
  path: string;
  directives: { name: string; value: number | null }[];
  /** Null: the response does not depend on the language. */
  varies: boolean;
  /** Times at which the content, and so its tag, changes. */
  changes: number[];
}
export interface CacheProblem {
  resources: Resource[];
  requests: { time: number; path: string; language: string; noCache: boolean }[];
}

/** By level: resources, requests, whether responses vary, whether requests may say no-cache. */
const SIZES = [
  [1, 6, false, false],
  [2, 8, false, false],
  [2, 10, true, false],
  [3, 14, true, true],
  [4, 20, true, true],
] as const;

export const sharedCacheVerdicts = itemRow<CacheProblem>({
  id: "shared-cache-verdicts",
  asks: "which requests a shared HTTP cache answers from its store, revalidates or forwards under Cache-Control",
  form: "list",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${origin(one)}\n\n${RULES}\n\nRequests:\n${log(one)}\n\nClassify each request in order as hit, revalidated, replaced or miss, separated by commas.`,
    (one) =>
      `${RULES}\n\nThe origin serves\n${origin(one)}\n\nand the cache, empty at first, gets\n${log(one)}\n\nWrite one word per request (hit, revalidated, replaced, miss), comma-separated.`,
    (one) =>
      `Traffic of a proxy that caches for everyone:\n${log(one)}\n\n${origin(one)}\n\n${RULES}\n\nWhat was the outcome of each request? List the words hit / revalidated / replaced / miss in the order of the requests, with commas.`,
    (one) =>
      `Predict the cache status column of this log.\n\n${log(one)}\n\nResponses of the origin:\n${origin(one)}\n\n${RULES} ${one.requests.length} words from hit, revalidated, replaced, miss; commas between.`,
  ],
});

const RULES =
  "A response with no-store or private is never stored. A stored response is fresh while its age is below s-maxage, or below max-age where there is no s-maxage; its age is the time since it was fetched or last revalidated. A fresh one answers a request (hit), unless it carries no-cache or the request does. Otherwise a stored response is validated at the origin by its tag: 'revalidated' if the content has not changed since it was fetched, 'replaced' if it has, and the new one is stored. Without a stored response that fits the request is a miss. With 'Vary: Accept-Language' there is one stored response for each language. A change at a time counts for requests at that time.";

function origin({ resources }: CacheProblem): string {
  return resources
    .map(({ path, directives, varies, changes }) => {
      const control = directives.map(({ name, value }) => (value === null ? name : `${name}=${value}`)).join(", ");
      const change = changes.length === 0 ? "never changes" : `changes at ${changes.join(", ")}`;
      return `${path}: Cache-Control: ${control}${varies ? "; Vary: Accept-Language" : ""} (content ${change})`;
    })
    .join("\n");
}

function log({ requests }: CacheProblem): string {
  return requests
    .map(
      ({ time, path, language, noCache }) =>
        `t=${time} GET ${path} Accept-Language: ${language}${noCache ? " Cache-Control: no-cache" : ""}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, length, mayVary, mayRefuse] = at(SIZES, level - 1);
  const resources = range(count).map((index): Resource => {
    const directives = [{ name: "max-age", value: (between(rng, 1, 8) * 10) as number | null }];
    const kind = rng.integer(7);
    if (kind < 2) directives.push({ name: "s-maxage", value: between(rng, 1, 8) * 10 });
    else if (kind === 2 && index > 0) directives.push({ name: "private", value: null });
    else if (kind === 3 && index > 0) directives.push({ name: "no-cache", value: null });
    else if (kind === 4 && index > 1) directives.push({ name: "no-store", value: null });
    return {
      path: `/${"abcd".charAt(index)}`,
      directives: rng.integer(2) === 0 ? directives : directives.toReversed(),
      varies: mayVary && rng.integer(2) === 0,
      changes: range(rng.integer(4))
        .map(() => between(rng, 5, 12 * length))
        .toSorted((a, b) => a - b),
    };
  });
  let time = 0;
  const requests = range(length).map(() => {
    time += between(rng, 2, 24);
    return {
      time,
      path: rng.pick(resources).path,
      language: mayVary ? rng.pick(["en", "de"]) : "en",
      noCache: mayRefuse && rng.integer(6) === 0,
    };
  });
  const problem = { resources, requests };
  const items = outcomes(problem, {});
  if (new Set(items).size < Math.min(4, 2 + Math.floor(level / 2))) return null;
  const misses = [
    outcomes(problem, { ignoresShared: true }),
    outcomes(problem, { ignoresVary: true }),
    outcomes(problem, { keepsAge: true }),
  ];
  if (misses[2]?.join() === items.join()) return null;
  const facts = resources.reduce(
    (sum, { directives, varies, changes }) => sum + directives.length + Number(varies) + changes.length,
    0,
  );
  return { problem, items, misses, effort: length * 3 + facts };
}

/** Slips: age counts from the first fetch, `s-maxage` or `Vary` is overlooked. */
function outcomes(
  { resources, requests }: CacheProblem,
  slips: { ignoresShared?: boolean; ignoresVary?: boolean; keepsAge?: boolean },
): string[] {
  const store = new Map<string, { fetched: number; checked: number }>();
  return requests.map(({ time, path, language, noCache }) => {
    const resource = resources.find((one) => one.path === path);
    if (resource === undefined) return "miss";
    const { directives, varies, changes } = resource;
    const value = (name: string): number | null | undefined => directives.find((one) => one.name === name)?.value;
    if (value("no-store") === null || (value("private") === null && slips.ignoresShared !== true)) return "miss";
    const key = varies && slips.ignoresVary !== true ? `${path} ${language}` : path;
    const stored = store.get(key);
    if (stored === undefined) {
      store.set(key, { fetched: time, checked: time });
      return "miss";
    }
    const life = (slips.ignoresShared === true ? undefined : value("s-maxage")) ?? value("max-age") ?? 0;
    const isFresh = time - stored.checked < life;
    if (isFresh && value("no-cache") === undefined && !noCache) return "hit";
    const isChanged = changes.some((change) => change > stored.fetched && change <= time);
    if (isChanged) store.set(key, { fetched: time, checked: time });
    else if (slips.keepsAge !== true) stored.checked = time;
    return isChanged ? "replaced" : "revalidated";
  });
}
