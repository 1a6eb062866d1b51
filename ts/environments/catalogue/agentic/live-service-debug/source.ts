/** Services of four files: a handler, a store, a cache and a queue. A service is drawn as rules, names and an order of functions. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";

export const FILES = ["handler", "store", "cache", "queue"] as const;
export type File = (typeof FILES)[number];

/** What a service is about: the things that are counted, who has them, and the words for show, add, take and move. */
export const DOMAINS = [
  { unit: "coins", owner: "wallet", ops: ["balance", "deposit", "withdraw", "transfer"] },
  { unit: "points", owner: "member", ops: ["points", "earn", "spend", "give"] },
  { unit: "crates", owner: "depot", ops: ["level", "receive", "issue", "ship"] },
  { unit: "megabytes", owner: "line", ops: ["left", "grant", "use", "pass"] },
  { unit: "hours", owner: "worker", ops: ["account", "log", "redeem", "lend"] },
  { unit: "seeds", owner: "garden", ops: ["stock", "collect", "sow", "swap"] },
  { unit: "tokens", owner: "player", ops: ["purse", "win", "pay", "trade"] },
  { unit: "litres", owner: "tank", ops: ["gauge", "fill", "drain", "pump"] },
] as const;

export interface Rules {
  /** Index into DOMAINS. */
  readonly domain: number;
  /** Most that one request adds. */
  readonly limit: number;
  /** Fee of a request that takes, in percent, and the least fee; null: there is none. */
  readonly fee: readonly [percent: number, least: number] | null;
  /** From this amount on a request that adds gets one part in so many more; null: never. */
  readonly bonus: readonly [from: number, part: number] | null;
  /** Minutes for which a request's id is known; null: ids do not matter. */
  readonly known: number | null;
  /** Minutes for which a shown value may be old. */
  readonly keep: number;
  /** Jobs of a minute, and minutes that a job waits, at least. */
  readonly batch: number;
  readonly delay: number;
}

export type Options = "fee" | "bonus" | "known";

/** Names of functions, tables and constants, by what they mean. */
export type Names = Readonly<Record<string, string>>;

const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  shown: ["shown", "read_fast", "view", "lookup", "quick"],
  stored: ["stored", "current", "amount_of", "fetch", "row_of"],
  add: ["add", "raise_by", "credit", "increase"],
  take: ["take", "lower_by", "debit", "decrease"],
  forget: ["forget", "expire", "evict", "invalidate"],
  seen: ["seen", "is_repeat", "known_id", "had_before"],
  push: ["push", "enqueue", "post_job", "later"],
  fee: ["fee", "charge_for", "cost_of", "extra"],
  bonus: ["bonus", "gift", "reward_for", "on_top"],
  rows: ["rows", "accounts", "amounts", "ledger"],
  copies: ["copies", "fast", "views", "memo"],
  until: ["until", "expiry", "valid", "ends"],
  jobs: ["jobs", "queue", "pending", "todo"],
  ids: ["ids", "requests", "tokens_seen", "marks"],
  LIMIT: ["LIMIT", "MOST", "LARGEST", "CEILING"],
  KEEP: ["KEEP", "TTL", "FRESH", "AGE"],
  BATCH: ["BATCH", "PER_MINUTE", "ROUND", "PACE"],
  DELAY: ["DELAY", "HOLD", "WAIT", "LAG"],
};

/** A line that stands in another form where a fault is. */
export interface Fault {
  readonly id: string;
  readonly file: File;
  /** Templates of lines; the first is right. */
  readonly right: string;
  readonly wrong: string;
}

const fault = (file: File, id: string, right: string, wrong: string): Fault => ({ id, file, right, wrong });

/** No two share a line. */
export const FAULTS: readonly Fault[] = [
  fault("handler", "accepts-zero", "    if amount < 1:", "    if amount < 0:"),
  fault("handler", "limit-excluded", "        if amount > $LIMIT:", "        if amount >= $LIMIT:"),
  fault(
    "handler",
    "fee-not-covered",
    "        if $stored(key) < amount + $fee(amount):",
    "        if $stored(key) < amount:",
  ),
  fault("handler", "checks-old-value", "        if $stored(key) < amount:", "        if $shown(key) < amount:"),
  fault("handler", "moves-to-itself", "        if key == other:", "        if key == amount:"),
  fault("handler", "fee-on-moves", "        $take(key, amount)", "        $take(key, amount + 1)"),
  fault(
    "handler",
    "bonus-only-answered",
    "        return $add(key, amount + $bonus(amount))",
    "        return $add(key, amount) + $bonus(amount)",
  ),
  fault("handler", "bonus-excluded", "    if amount >= FROM:", "    if amount > FROM:"),
  fault("handler", "least-fee-is-most", "    if part < LEAST:", "    if part > LEAST:"),
  fault("handler", "fee-rounded-up", "    part = amount * PERCENT // 100", "    part = (amount * PERCENT + 99) // 100"),
  fault("store", "begins-at-one", "        return 0", "        return 1"),
  fault("store", "keeps-copy-after-adding", "    $forget(key)  # added", "    pass"),
  fault("store", "keeps-copy-after-taking", "    $forget(key)  # taken", "    pass"),
  fault("store", "id-not-found", '        put("$ids", id, now())', '        put("$ids", now(), id)'),
  fault(
    "store",
    "id-known-too-long",
    "    if since == None or now() - since >= KNOWN:",
    "    if since == None or now() - since > KNOWN:",
  ),
  fault("cache", "copy-lives-longer", "    if end != None and now() < end:", "    if end != None and now() <= end:"),
  fault(
    "cache",
    "copy-lives-twice",
    '    put("$until", key, now() + $KEEP)',
    '    put("$until", key, now() + $KEEP * 2)',
  ),
  fault("cache", "copy-of-a-constant", '    put("$copies", key, value)', '    put("$copies", key, $KEEP)'),
  fault("cache", "forgets-nothing", '    drop("$until", key)', '    drop("$copies", key)'),
  fault("queue", "newest-first", '        number = oldest("$jobs")', '        number = newest("$jobs")'),
  fault(
    "queue",
    "one-job-more",
    '    while size("$jobs") > 0 and done < $BATCH:',
    '    while size("$jobs") > 0 and done <= $BATCH:',
  ),
  fault("queue", "waits-longer", "        if now() - job[2] < $DELAY:", "        if now() - job[2] <= $DELAY:"),
  fault("queue", "loses-jobs", '    put("numbers", "last", last + 1)', '    put("numbers", "last", size("$jobs"))'),
  fault(
    "queue",
    "arrives-less-one",
    '        put("$rows", job[0], $stored(job[0]) + job[1])',
    '        put("$rows", job[0], $stored(job[0]) + job[1] - 1)',
  ),
];

export function drawRules(rng: Rng, options: readonly Options[]): Rules {
  return {
    domain: rng.integer(DOMAINS.length),
    limit: between(rng, 60, 400),
    fee: options.includes("fee") ? [between(rng, 3, 15), between(rng, 2, 6)] : null,
    bonus: options.includes("bonus") ? [between(rng, 30, 50), between(rng, 3, 9)] : null,
    known: options.includes("known") ? between(rng, 3, 6) : null,
    keep: between(rng, 3, 6),
    batch: between(rng, 1, 2),
    delay: between(rng, 1, 3),
  };
}

export function drawNames(rng: Rng): Names {
  return Object.fromEntries(Object.entries(SYNONYMS).map(([meaning, words]) => [meaning, rng.pick(words)]));
}

/** An order of the functions of all files. */
export function drawOrder(rng: Rng): number[] {
  return sample(range(MOST_ROUTINES), MOST_ROUTINES, rng);
}

/** Most functions of a file. */
const MOST_ROUTINES = 4;

export function optionsOf(count: number, rng: Rng): Options[] {
  return shuffled(["fee", "bonus", "known"] as const, rng).slice(0, count);
}

export interface Spec {
  readonly rules: Rules;
  readonly names: Names;
  readonly order: readonly number[];
}

/** The sources, with the lines of these faults in their wrong form. */
export function sourcesOf({ rules, names, order }: Spec, faults: readonly string[] = []): string[] {
  const wrong = FAULTS.filter(({ id }) => faults.includes(id));
  return FILES.map((file) => {
    const [constants, ...routines] = linesOfFile(file, rules);
    const ordered = order.flatMap((index) => (routines[index] === undefined ? [] : [routines[index]]));
    const blocks = [...((constants ?? []).length > 0 ? [constants ?? []] : []), ...ordered];
    const lines = blocks.flatMap((block, index) => (index === 0 ? block : ["", ...block]));
    const faulty = lines.map((line) => wrong.find((one) => one.file === file && one.right === line)?.wrong ?? line);
    return `${faulty.map((line) => named(line, names)).join("\n")}\n`;
  });
}

/** Whether the service has the line of this fault. */
export function hasLine({ rules }: Spec, { file, right }: Fault): boolean {
  return linesOfFile(file, rules).some((lines) => lines.includes(right));
}

/** A template with the service's names; what tells two equal lines apart goes. */
export function named(line: string, names: Names): string {
  return line.replaceAll(/\$(\w+)/gu, (_, meaning: string) => names[meaning] ?? meaning).replace(/ {2}# .*$/u, "");
}

/** The constants, then the functions. */
function linesOfFile(file: File, rules: Rules): string[][] {
  switch (file) {
    case "handler":
      return handler(rules);
    case "store":
      return store(rules);
    case "cache":
      return [
        [`$KEEP = ${rules.keep}`],
        [
          "def $shown(key):",
          '    end = get("$until", key)',
          "    if end != None and now() < end:",
          '        return get("$copies", key)',
          "    value = $stored(key)",
          '    put("$copies", key, value)',
          '    put("$until", key, now() + $KEEP)',
          "    return value",
        ],
        ["def $forget(key):", '    drop("$until", key)'],
      ];
    default:
      return [
        [`$BATCH = ${rules.batch}`, `$DELAY = ${rules.delay}`],
        [
          "def $push(target, amount):",
          '    last = get("numbers", "last")',
          "    if last == None:",
          "        last = 0",
          '    put("numbers", "last", last + 1)',
          '    put("$jobs", last, [target, amount, now()])',
        ],
        [
          "def work():",
          "    done = 0",
          '    while size("$jobs") > 0 and done < $BATCH:',
          '        number = oldest("$jobs")',
          '        job = get("$jobs", number)',
          "        if now() - job[2] < $DELAY:",
          "            return done",
          '        drop("$jobs", number)',
          '        put("$rows", job[0], $stored(job[0]) + job[1])',
          "        done = done + 1",
          "    return done",
        ],
      ];
  }
}

function handler({ domain, limit, fee, bonus, known }: Rules): string[][] {
  const [show, add, take, move] = at(DOMAINS, domain).ops;
  const constants = [
    `$LIMIT = ${limit}`,
    ...(fee === null ? [] : [`PERCENT = ${fee[0]}`, `LEAST = ${fee[1]}`]),
    ...(bonus === null ? [] : [`FROM = ${bonus[0]}`, `PART = ${bonus[1]}`]),
  ];
  const handle = [
    "def handle(op, key, other, amount, id):",
    `    if op == "${show}":`,
    "        return $shown(key)",
    "    if amount < 1:",
    '        return "bad amount"',
    ...(known === null ? [] : ["    if $seen(id):", '        return "repeated"']),
    `    if op == "${add}":`,
    "        if amount > $LIMIT:",
    '            return "too much"',
    bonus === null ? "        return $add(key, amount)" : "        return $add(key, amount + $bonus(amount))",
    `    if op == "${take}":`,
    ...(fee === null
      ? [
          "        if $stored(key) < amount:  # plain",
          '            return "not enough"',
          "        return $take(key, amount)",
        ]
      : [
          "        if $stored(key) < amount + $fee(amount):",
          '            return "not enough"',
          "        return $take(key, amount + $fee(amount))",
        ]),
    `    if op == "${move}":`,
    "        if key == other:",
    '            return "same"',
    "        if $stored(key) < amount:",
    '            return "not enough"',
    "        $take(key, amount)",
    "        $push(other, amount)",
    '        return "queued"',
    '    return "unknown"',
  ];
  return [
    constants,
    handle,
    ...(fee === null
      ? []
      : [
          [
            "def $fee(amount):",
            "    part = amount * PERCENT // 100",
            "    if part < LEAST:",
            "        return LEAST",
            "    return part",
          ],
        ]),
    ...(bonus === null
      ? []
      : [["def $bonus(amount):", "    if amount >= FROM:", "        return amount // PART", "    return 0"]]),
  ];
}

function store({ known }: Rules): string[][] {
  const changed = (name: string, sign: string, remark: string): string[] => [
    `def ${name}(key, amount):`,
    `    put("$rows", key, $stored(key) ${sign} amount)`,
    `    $forget(key)  # ${remark}`,
    "    return $stored(key)",
  ];
  return [
    known === null ? [] : [`KNOWN = ${known}`],
    [
      "def $stored(key):",
      '    value = get("$rows", key)',
      "    if value == None:",
      "        return 0",
      "    return value",
    ],
    changed("$add", "+", "added"),
    changed("$take", "-", "taken"),
    ...(known === null
      ? []
      : [
          [
            "def $seen(id):",
            '    since = get("$ids", id)',
            "    if since == None or now() - since >= KNOWN:",
            '        put("$ids", id, now())',
            "        return False",
            "    return True",
          ],
        ]),
  ];
}
