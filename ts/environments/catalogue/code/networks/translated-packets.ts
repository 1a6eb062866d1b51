/** translated-packets: what an address translator makes of packets in both directions, with filters, reuse and timeouts. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Packet {
  time: number;
  /** From the inside: source is an inner socket. From the outside: target is a port of the translator. */
  outward: boolean;
  inner: string;
  port: number;
  peer: string;
}
export interface TranslationProblem {
  /** Whether one mapping serves all peers of an inner socket. */
  shares: boolean;
  /** Which packets from the outside pass: of any peer, of a peer host that was sent to, or of that host and port only. */
  filter: "any" | "host" | "socket";
  firstPort: number;
  timeout: number;
  packets: Packet[];
}

/** By level: packets, inner sockets, peers. */
const SIZES = [
  [5, 2, 2],
  [8, 2, 3],
  [11, 3, 3],
  [15, 3, 4],
  [20, 4, 4],
] as const;
const FILTERS = {
  any: "whatever their sender",
  host: "if the inner socket has sent something to the sender's address through this mapping since it was made",
  socket:
    "if the inner socket has sent something to exactly the sender's address and port through this mapping since it was made",
} as const;

export const translatedPackets = itemRow<TranslationProblem>({
  id: "translated-packets",
  asks: "what an address translator makes of packets in both directions, with mappings, filters and timeouts",
  form: "list",
  tries: 80,
  make,
  prompts: [
    (one) =>
      `${rules(one)}\n\nPackets:\n${log(one)}\n\nFor each outgoing packet give the outer port that it gets, for each incoming one the inner socket that receives it or "dropped". In order, separated by commas.`,
    (one) =>
      `A home router translates addresses. ${rules(one)}\n\n${log(one)}\n\nList, in the order of the packets and with commas: the outer port of packets from the inside; the inner socket (or dropped) of packets from the outside.`,
    (one) =>
      `Trace of a translator, seconds in front:\n${log(one)}\n\n${rules(one)}\n\nWhat happens to each? Answer per packet with the chosen outer port (out) or with the receiving inner address:port, or dropped (in). Comma-separated.`,
    (one) =>
      `Which of these packets get through, and how are they rewritten?\n\n${log(one)}\n\n${rules(one)} Comma-separated results in order: a port number for "out" lines; inner socket or "dropped" for "in" lines.`,
  ],
});

function rules({ shares, filter, firstPort, timeout }: TranslationProblem): string {
  const key = shares
    ? "An inner socket has one outer port for all peers"
    : "An inner socket has another outer port for every peer address and port";
  return `${key}; a new mapping takes the lowest port from ${firstPort} on that no living mapping has. Incoming packets to a mapped port pass ${FILTERS[filter]}. A mapping dies when ${timeout} seconds or more have passed since the last packet from the inside that used it; incoming packets do not prolong it.`;
}

function log({ packets }: TranslationProblem): string {
  return packets
    .map(({ time, outward, inner, port, peer }) =>
      outward ? `${time}: out from ${inner} to ${peer}` : `${time}: in from ${peer} to port ${port}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, sockets, peerCount] = at(SIZES, level - 1);
  const inners = range(sockets).map((index) => `10.0.0.${2 + (index % 2)}:${5000 + index}`);
  const peers = range(peerCount).map((index) => `203.0.113.${7 + Math.floor(index / 2)}:${80 + (index % 2)}`);
  const firstPort = between(rng, 40, 60) * 1000;
  let time = 0;
  const packets = range(count).map((index): Packet => {
    time += between(rng, 1, 20);
    return {
      time,
      outward: index === 0 || rng.integer(2) === 0,
      inner: rng.pick(inners),
      port: firstPort + rng.integer(sockets + 1),
      peer: rng.pick(peers),
    };
  });
  const problem: TranslationProblem = {
    shares: rng.integer(2) === 0,
    filter: rng.pick(["any", "host", "socket"] as const),
    firstPort,
    timeout: between(rng, 25, 60),
    packets,
  };
  const { items, looked } = translate(problem);
  const incoming = items.filter((_, index) => packets[index]?.outward === false);
  const passed = incoming.filter((item) => item !== "dropped").length;
  if (passed < 1 || passed === incoming.length || new Set(items).size < Math.min(4, 2 + level)) return null;
  const other = { any: "socket", host: "socket", socket: "host" } as const;
  const misses = [
    translate({ ...problem, shares: !problem.shares }).items,
    translate({ ...problem, filter: other[problem.filter] }).items,
    translate({ ...problem, timeout: 10_000 }).items,
  ];
  if (misses[0]?.join() === items.join() && misses[2]?.join() === items.join()) return null;
  return { problem, items, misses, effort: looked + 2 * count };
}

function translate({ shares, filter, firstPort, timeout, packets }: TranslationProblem) {
  let mappings: { key: string; inner: string; port: number; used: number; sent: string[] }[] = [];
  let looked = 0;
  const items = packets.map(({ time, outward, inner, port, peer }) => {
    mappings = mappings.filter(({ used }) => time - used < timeout);
    looked += mappings.length;
    if (!outward) {
      const found = mappings.find((one) => one.port === port);
      const host = (socket: string): string => socket.split(":")[0] ?? "";
      const passes =
        found !== undefined &&
        (filter === "any" || found.sent.some((one) => (filter === "socket" ? one === peer : host(one) === host(peer))));
      return passes ? found.inner : "dropped";
    }
    const key = shares ? inner : `${inner} ${peer}`;
    let mapping = mappings.find((one) => one.key === key);
    if (mapping === undefined) {
      let free = firstPort;
      while (mappings.some((one) => one.port === free)) free += 1;
      mapping = { key, inner, port: free, used: time, sent: [] };
      mappings.push(mapping);
    }
    mapping.used = time;
    mapping.sent.push(peer);
    return String(mapping.port);
  });
  return { items, looked };
}
