/** retry-queue: deliveries of a queue with visibility, retries, delays and dead letters. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

interface Message {
  readonly id: number;
  ready: number;
  tries: number;
  readonly group: string;
}

export const retryQueue = variantRow({
  id: "retry-queue",
  asks: "the deliveries of a message queue with hidden messages, growing delays, groups and dead letters",
  name: "deliver",
  parameters: ["events"],
  extras: ["dead", "growing", "groups", "newest", "duplicate", "extend"],
  constants: (rng) => ({
    hidden: between(rng, 3, 9),
    delay: between(rng, 2, 8),
    most: between(rng, 2, 3),
    quiet: between(rng, 5, 18),
  }),
  stories: [
    "A queue between two services delivers each message until it is confirmed.",
    "Orders are handed to workers who sometimes fail.",
    "The test double of a message queue must behave like the real one.",
    "Alarms are given to people on duty until somebody confirms them.",
  ],
  rules: `
["send", t, g] puts a message of the group g into the queue at the time t. Messages get the numbers 0, 1, 2, ... in the order of sending, also those that a rule drops.
A message is dropped, if a message of the same group was sent (and not dropped) less than {{quiet}} units before. #?duplicate
["take", t] delivers a message at the time t: of those that are ready at t or before, the one with the smallest time at which it became ready, and of those the one with the smallest number. #!newest
["take", t] delivers a message at the time t: of those that are ready at t or before, the one with the largest number. #?newest
A message is not delivered while another one of its group is delivered and hidden. #?groups
A message is ready from its sending on. After a delivery it is hidden for {{hidden}} units and then becomes ready again, unless something else happens before.
["done", t, n] removes the message n, if it is in the queue (hidden or not).
["fail", t, n] makes the message n, if it is hidden at t, ready again {{delay}} units after t. It counts as hidden until then. #!growing
["fail", t, n] makes the message n, if it is hidden at t, ready again {{delay}} * d units after t, where d is the number of its deliveries so far. It counts as hidden until then. #?growing
["more", t, n] makes the message n, if it is hidden at t, hidden for {{hidden}} units from t on. #?extend
A message that would be delivered for more than {{most}} times is removed instead and reported as -1 - n in place of the delivery. #?dead
A message is hidden at t if t is before the time at which it becomes ready again.
`,
  types: `
The argument is the list of events with ascending times t. The result has, for each take, the number of the delivered message, or "-" if there is none.
`,
  calls(_, rng, on) {
    const kinds = [
      "send",
      "send",
      "send",
      "take",
      "take",
      "take",
      "take",
      "fail",
      "fail",
      "done",
      ...(on("extend") ? ["more"] : []),
    ];
    const events = (count: number, gap: number): Json => {
      let [time, sent] = [0, 0];
      return range(count).map((): Json => {
        time += rng.integer(gap);
        const kind = rng.pick(kinds);
        if (kind === "send") sent += 1;
        if (kind === "send") return [kind, time, rng.pick("xyz")];
        return kind === "take" ? [kind, time] : [kind, time, rng.integer(sent + 1)];
      });
    };
    const some = (count: number, gap: number): Json[][] => range(6).map(() => [events(count, gap)]);
    return { short: some(12, 4), busy: some(24, 2), calm: some(24, 6), long: some(45, 3) };
  },
  solve([events]: readonly [readonly (readonly [string, number, string | number])[]], values, on) {
    const { hidden, delay, most, quiet } = values;
    let messages: Message[] = [];
    const sent = new Map<string, number>();
    let count = 0;
    const out: Json[] = [];
    const isHidden = (one: Message, time: number): boolean => one.tries > 0 && time < one.ready;
    for (const [kind, time, what] of events) {
      if (kind === "send") {
        const group = String(what);
        const id = count;
        count += 1;
        if (on("duplicate") && time - (sent.get(group) ?? -1e6) < quiet) continue;
        sent.set(group, time);
        messages.push({ id, ready: time, tries: 0, group });
        continue;
      }
      const named = messages.find((one) => one.id === what);
      if (kind === "done") messages = messages.filter((one) => one !== named);
      if (kind === "fail" && named !== undefined && isHidden(named, time))
        named.ready = time + delay * (on("growing") ? named.tries : 1);
      if (kind === "more" && named !== undefined && isHidden(named, time)) named.ready = time + hidden;
      if (kind !== "take") continue;
      const ready = messages.filter(
        (one) =>
          one.ready <= time &&
          !(on("groups") && messages.some((other) => other.group === one.group && isHidden(other, time))),
      );
      const [one] = ready.toSorted((a, b) => (on("newest") ? b.id - a.id : a.ready - b.ready || a.id - b.id));
      if (one === undefined) out.push("-");
      else if (on("dead") && one.tries >= most) {
        messages = messages.filter((other) => other !== one);
        out.push(-1 - one.id);
      } else {
        one.tries += 1;
        one.ready = time + hidden;
        out.push(one.id);
      }
    }
    return out;
  },
  python: `
def deliver(events):
    queue, sent, out, count = {}, {}, [], 0  # queue: number to [time when ready, deliveries, group]

    def hidden(n, t):
        return queue[n][1] > 0 and t < queue[n][0]

    for kind, t, *rest in events:
        if kind == "send":
            n, count = count, count + 1
            if rest[0] in sent and t - sent[rest[0]] < {{quiet}}: #?duplicate
                continue #?duplicate
            sent[rest[0]] = t
            queue[n] = [t, 0, rest[0]]
        elif kind == "done":
            queue.pop(rest[0], None)
        elif kind == "fail":
            n = rest[0]
            if n in queue and hidden(n, t):
                queue[n][0] = t + {{delay}} #!growing
                queue[n][0] = t + {{delay}} * queue[n][1] #?growing
        elif kind == "more": #?extend
            if rest[0] in queue and hidden(rest[0], t): #?extend
                queue[rest[0]][0] = t + {{hidden}} #?extend
        elif kind == "take":
            busy = {queue[n][2] for n in queue if hidden(n, t)}
            ready = [n for n in queue if queue[n][0] <= t]
            ready = [n for n in ready if queue[n][2] not in busy] #?groups
            if not ready:
                out.append("-")
                continue
            n = min(ready, key=lambda m: (queue[m][0], m)) #!newest
            n = max(ready) #?newest
            if queue[n][1] >= {{most}}: #?dead
                del queue[n] #?dead
                out.append(-1 - n) #?dead
                continue #?dead
            queue[n][0] = t + {{hidden}}
            queue[n][1] += 1
            out.append(n)
    return out
`,
});
