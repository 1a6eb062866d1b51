/** log-follower: how a server of a replicated log answers votes and appends, and the log that it ends with. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Message =
  | { do: "vote"; term: number; from: string; lastIndex: number; lastTerm: number }
  | {
      do: "append";
      term: number;
      from: string;
      previousIndex: number;
      previousTerm: number;
      entries: number[];
      commit: number;
    };
export interface FollowerProblem {
  term: number;
  log: number[];
  messages: Message[];
}

/** By level: entries at first, messages. */
const SIZES = [
  [3, 4],
  [4, 6],
  [5, 8],
  [6, 11],
  [8, 16],
] as const;

export const logFollower = itemRow<FollowerProblem>({
  id: "log-follower",
  asks: "the replies of a server of a replicated log to votes and appends, and its final log",
  form: "lines",
  tries: 80,
  make,
  prompts: [
    (one) =>
      `${RULES}\n\n${state(one)} Messages:\n${text(one)}\n\nOne line for each reply: yes or no, and the server's term after it, as in "no 4". In the last line write the terms of all entries of the log, from entry 1, and then the commit index, all separated by spaces.`,
    (one) =>
      `Play server F of a consensus group. ${state(one)}\n\n${RULES}\n\nIt receives\n${text(one)}\n\nWrite its replies as lines "yes term" or "no term" (term after the message). Add a line with the final log, the term of each entry in order, followed by the commit index.`,
    (one) =>
      `${text(one)}\n\nThese messages reach a follower. ${state(one)} ${RULES}\n\nReplies (yes/no and current term, one a line), then one line: terms of its entries and the commit index, with spaces.`,
    (one) =>
      `State of F: ${state(one)}\n\nIncoming:\n${text(one)}\n\nProtocol: ${RULES}\n\nList the answers in order, each as a line with yes or no and the term, and close with a line of the log's terms and the commit index.`,
  ],
});

const RULES =
  "A message with a larger term sets the server's term to it and clears its vote; one with a smaller term gets no. A vote is granted if the server has not voted in this term or has voted for the same candidate, and the candidate's last entry has a larger term than the server's last entry, or the same term and at least the same index. An append gets no unless the server has an entry at the previous index with the previous term (index 0 always fits); otherwise each sent entry whose place holds an entry of another term deletes that one and all behind it, missing entries are added, equal ones stay, and the commit index becomes, if that is larger, the smaller one of the leader's commit index and the index of the last sent entry (the previous index if none was sent).";

function state({ term, log }: FollowerProblem): string {
  return `The server has term ${term}, no vote in it, commit index 0, and a log whose entries have the terms ${log.join(", ")}.`;
}

function text({ messages }: FollowerProblem): string {
  return messages
    .map((one) =>
      one.do === "vote"
        ? `vote: term ${one.term}, candidate ${one.from}, last index ${one.lastIndex}, last term ${one.lastTerm}`
        : `append: term ${one.term}, leader ${one.from}, previous index ${one.previousIndex}, previous term ${one.previousTerm}, entries [${one.entries.join(", ")}], leader's commit ${one.commit}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [length, count] = at(SIZES, level - 1);
  let entry = 1;
  const log = range(length).map(() => (entry += rng.pick([0, 0, 1, 2])));
  const start = entry + rng.integer(2);
  let term = start;
  let shadow = [...log];
  const messages = range(count).map((): Message => {
    if (rng.integer(3) === 0) term += between(rng, 1, 2);
    const own = rng.integer(5) === 0 ? term - 1 : term;
    if (rng.integer(5) < 2)
      return {
        do: "vote",
        term: own,
        from: rng.pick(["A", "B", "C"]),
        lastIndex: Math.max(1, shadow.length + between(rng, -1, 1)),
        lastTerm: Math.max(1, (shadow.at(-1) ?? 1) + rng.pick([0, 0, 0, 1, -1])),
      };
    const previousIndex = Math.max(0, shadow.length - between(rng, 0, 3) + Number(rng.integer(6) === 0));
    const truth = shadow[previousIndex - 1] ?? 0;
    const previousTerm = rng.integer(6) === 0 ? truth + 1 : truth;
    const entries = range(between(rng, 0, 3)).map((index) =>
      rng.integer(2) === 0 ? (shadow[previousIndex + index] ?? own) : own,
    );
    const sorted = entries.toSorted((a, b) => a - b).map((value) => Math.max(value, previousTerm));
    const message: Message = {
      do: "append",
      term: own,
      from: "L",
      previousIndex,
      previousTerm,
      entries: sorted,
      commit: between(rng, 0, previousIndex + sorted.length),
    };
    if (own === term && previousTerm === truth && previousIndex <= shadow.length)
      shadow = [...shadow.slice(0, previousIndex), ...sorted];
    return message;
  });
  const problem = { term: start, log, messages };
  const items = follow(problem, "right");
  const yes = items.filter((item) => item.startsWith("yes")).length;
  if (yes < 2 || yes > count - 1) return null;
  const misses = (["longest", "truncates", "commits"] as const).map((slip) => follow(problem, slip));
  if (misses.every((miss) => miss.join() === items.join())) return null;
  const entries = messages.reduce((sum, one) => sum + (one.do === "append" ? one.entries.length : 1), 0);
  return { problem, items, misses, effort: entries + 3 * count + length };
}

/** Slips: votes by the length of the log, appends that always cut behind their entries, commits without the bound of the sent entries. */
function follow(
  { term: start, log: first, messages }: FollowerProblem,
  how: "right" | "longest" | "truncates" | "commits",
): string[] {
  let term = start;
  let voted: string | null = null;
  let committed = 0;
  const log = [...first];
  const replies = messages.map((one) => {
    if (one.term > term) {
      term = one.term;
      voted = null;
    }
    if (one.term < term) return `no ${term}`;
    if (one.do === "vote") {
      const last = log.at(-1) ?? 0;
      const isLonger = one.lastIndex >= log.length;
      const isNew = how === "longest" ? isLonger : one.lastTerm > last || (one.lastTerm === last && isLonger);
      if (!isNew || (voted !== null && voted !== one.from)) return `no ${term}`;
      voted = one.from;
      return `yes ${term}`;
    }
    if (one.previousIndex > 0 && log[one.previousIndex - 1] !== one.previousTerm) return `no ${term}`;
    for (const [offset, entry] of one.entries.entries()) {
      const place = one.previousIndex + offset;
      if (log[place] === entry) continue;
      log.length = Math.min(log.length, place);
      log.push(entry);
    }
    if (how === "truncates") log.length = one.previousIndex + one.entries.length;
    const bound = how === "commits" ? one.commit : Math.min(one.commit, one.previousIndex + one.entries.length);
    committed = Math.max(committed, bound);
    return `yes ${term}`;
  });
  return [...replies, [...log, committed].join(" ")];
}
