/** request-limits: which requests a limiter with buckets, windows and penalties lets pass. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const requestLimits = variantRow({
  id: "request-limits",
  asks: "the waiting times that a limiter with a bucket, a window, penalties and shared budgets gives",
  name: "decide",
  parameters: ["requests"],
  extras: ["window", "penalty", "weight", "shared", "debt", "burst"],
  constants: (rng) => ({
    size: between(rng, 3, 6),
    every: between(rng, 2, 5),
    window: between(rng, 8, 14),
    most: between(rng, 3, 5),
    block: between(rng, 3, 8),
  }),
  stories: [
    "An interface limits how often its users may call it.",
    "A mail server slows down senders that are too busy.",
    "The gate of a warehouse lets carts of several firms in by a rule.",
    "A logger drops messages of chatty modules.",
  ],
  rules: `
Requests come in order of time; each belongs to a user. Every user has a bucket, which is full with {{size}} tokens at the time of the user's first request. #!shared
Requests come in order of time; each belongs to a user. All users share one bucket, which is full with {{size}} tokens at the time of the first request; everything below about a user is meant for each of them, but "the bucket" is that one. #?shared
{{every}} units after the bucket became full or was filled last, and again after every {{every}} units from then on, a token comes into it; it holds {{size}} at most, and tokens that find it full are lost. The clock of these units starts with the bucket and never stops.
A request passes if there is a token, and takes it. #!weight #!debt
A request with the weight w passes if there are w tokens, and takes them. #?weight #!debt
A request passes if the number of tokens is not negative, and takes one; the number may thus become -1. #!weight #?debt
A request with the weight w passes if the number of tokens is not negative, and takes w tokens; the number may thus become negative. #?weight #?debt
A request does not pass either, and takes nothing, if {{most}} requests of its user have passed in the last {{window}} units (those at exactly {{window}} units before do not count any more). #?window
When a request does not pass, all requests of its user in the {{block}} units after it (those at exactly {{block}} units after it may pass again) do not pass and start no new block. #?penalty
A request that comes at the same time as a request of the same user before it passes or not as that one did, and takes nothing. #?burst
`,
  types: `
The argument is a list of requests [time, user, weight] with ascending times. The result is the list of 1 for each request that passes and of the number of tokens in the bucket then, negated and minus 10, for each one that does not.
`,
  calls(_, rng) {
    const requests = (count: number, gap: number, users: number): Json => {
      let time = between(rng, 0, 9);
      return range(count).map(() => [(time += rng.integer(gap)), rng.pick("abc".slice(0, users)), between(rng, 1, 3)]);
    };
    const some = (count: number, gap: number, users: number): Json[][] =>
      range(7).map(() => [requests(count, gap, users)]);
    return { one: some(14, 4, 1), two: some(18, 3, 2), three: some(25, 2, 3), calm: some(16, 7, 2) };
  },
  solve([requests]: readonly [readonly (readonly [number, string, number])[]], values, on) {
    const { size, every, window, most, block } = values;
    const buckets = new Map<string, { tokens: number; next: number }>();
    const passed: { user: string; time: number }[] = [];
    const blocked = new Map<string, number>();
    const latest = new Map<string, { time: number; result: number }>();
    return requests.map(([time, user, weight]) => {
      const key = on("shared") ? "" : user;
      const bucket = buckets.get(key) ?? { tokens: size, next: time + every };
      buckets.set(key, bucket);
      for (; bucket.next <= time; bucket.next += every) bucket.tokens = Math.min(size, bucket.tokens + 1);
      const before = latest.get(user);
      if (on("burst") && before?.time === time) return before.result;
      const price = on("weight") ? weight : 1;
      const isBlocked = on("penalty") && time < (blocked.get(user) ?? -1);
      const recent = passed.filter((one) => one.user === user && one.time > time - window).length;
      const passes =
        !isBlocked && !(on("window") && recent >= most) && (on("debt") ? bucket.tokens >= 0 : bucket.tokens >= price);
      const result = passes ? 1 : -10 - bucket.tokens;
      latest.set(user, { time, result });
      if (passes) {
        bucket.tokens -= price;
        passed.push({ user, time });
      } else if (!isBlocked) blocked.set(user, time + block);
      return result;
    });
  },
  python: `
def decide(requests):
    buckets, passed, blocked, latest, out = {}, [], {}, {}, []
    for time, user, weight in requests:
        key = user #!shared
        key = "all" #?shared
        bucket = buckets.setdefault(key, [{{size}}, time])
        came = (time - bucket[1]) // {{every}}
        bucket[0] = min({{size}}, bucket[0] + came)
        bucket[1] += came * {{every}}
        if user in latest and latest[user][0] == time: #?burst
            out.append(latest[user][1]) #?burst
            continue #?burst
        price = weight #?weight
        price = 1 #!weight
        ok = bucket[0] >= price #!debt
        ok = bucket[0] >= 0 #?debt
        if sum(u == user and t > time - {{window}} for u, t in passed) >= {{most}}: #?window
            ok = False #?window
        resting = time < blocked.get(user, -1) #?penalty
        if resting: #?penalty
            ok = False #?penalty
        elif not ok: #?penalty
            blocked[user] = time + {{block}} #?penalty
        out.append(1 if ok else -bucket[0] - 10)
        latest[user] = (time, out[-1]) #?burst
        if ok:
            bucket[0] -= price
            passed.append((user, time))
    return out
`,
});
