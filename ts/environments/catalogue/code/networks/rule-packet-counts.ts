/** rule-packet-counts: how many pairs of address and port each rule of a first-match filter decides. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Span = [from: number, to: number];
interface Rule {
  allows: boolean;
  hosts: Span;
  ports: Span;
}
export interface FilterProblem {
  /** Hosts are 0 to this number. */
  lastHost: number;
  lastPort: number;
  rules: Rule[];
}

/** By level: rules, last host, last port. */
const SIZES = [
  [3, 15, 9],
  [4, 31, 19],
  [5, 63, 49],
  [7, 127, 99],
  [9, 255, 999],
] as const;

export const rulePacketCounts = itemRow<FilterProblem>({
  id: "rule-packet-counts",
  asks: "how many packets each rule of a first-match packet filter decides, shadowed rules included",
  form: "list",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${rulesText(one)}\n\n${space(one)} The first rule that matches a packet decides it; what no rule matches is dropped at the end. How many packets does each rule decide, and how many reach the end? Give ${one.rules.length + 1} numbers in the order of the rules, separated by commas; a shadowed rule has 0.`,
    (one) =>
      `Audit this packet filter for shadowed rules. ${space(one)}\n\n${rulesText(one)}\n\nFirst match wins. For each rule count the packets for which it is the first match, and last count the packets that match no rule. Answer with the counts in order, commas between them.`,
    (one) =>
      `A firewall reads its rules from the top and stops at the first match.\n\n${rulesText(one)}\n\n${space(one)} State the number of host and port pairs that rule 1 decides, that rule 2 decides, and so on; after the last rule add the number of pairs left for the default. Comma-separated.`,
    (one) =>
      `${space(one)} They run through\n\n${rulesText(one)}\n\nuntil a rule fits (both ends of a range belong to it). If every possible packet came once, what would the hit counters of the rules show, from the first rule to the last, and then the counter of the default at the end? List these ${one.rules.length + 1} counters with commas.`,
  ],
});

function rulesText({ rules }: FilterProblem): string {
  const span = ([from, to]: Span): string => (from === to ? String(from) : `${from}-${to}`);
  return rules
    .map(
      ({ allows, hosts, ports }, index) =>
        `${index + 1}: ${allows ? "allow" : "deny"} host ${span(hosts)} port ${span(ports)}`,
    )
    .join("\n");
}

function space({ lastHost, lastPort }: FilterProblem): string {
  return `A packet has a host from 0 to ${lastHost} and a port from 0 to ${lastPort}.`;
}

function make(rng: Rng, level: Level) {
  const [count, lastHost, lastPort] = at(SIZES, level - 1);
  const span = (last: number): Span => {
    const [a, b] = [rng.integer(last + 1), rng.integer(last + 1)];
    return a < b ? [a, b] : [b, a];
  };
  const rules = range(count).map((): Rule => ({
    allows: rng.integer(2) === 0,
    hosts: span(lastHost),
    ports: span(lastPort),
  }));
  // A rule between the first and the last is covered by earlier rules together.
  const [one, other] = [at(rules, 0), at(rules, 1)];
  if (level > 1) {
    const low = Math.max(one.ports[0], other.ports[0]);
    const high = Math.min(one.ports[1], other.ports[1]);
    if (low <= high && rng.integer(2) === 0)
      rules[2] = {
        allows: rng.integer(2) === 0,
        hosts: [
          Math.min(one.hosts[0], other.hosts[0]),
          between(rng, one.hosts[0], Math.max(one.hosts[1], other.hosts[1])),
        ],
        ports: [low, high],
      };
  }
  const problem = { lastHost, lastPort, rules };
  const { counts, cells } = countsOf(problem);
  const items = counts.map(String);
  const whole = rules.map(({ hosts, ports }) => (hosts[1] - hosts[0] + 1) * (ports[1] - ports[0] + 1));
  const hidden = counts.slice(0, -1).filter((value, index) => value < at(whole, index)).length;
  if (hidden < Math.min(3, Math.floor(count / 2)) || counts.filter((value) => value === 0).length > 2) return null;
  const rest = (lastHost + 1) * (lastPort + 1) - whole.reduce((a, b) => a + b);
  const misses = [[...whole, Math.max(0, rest)].map(String), [...whole, at(counts, count)].map(String)];
  return { problem, items, misses, effort: cells };
}

/** Cuts the plane at the ends of all ranges; each cell goes to its first rule. */
function countsOf({ lastHost, lastPort, rules }: FilterProblem): { counts: number[]; cells: number } {
  const cuts = (spans: readonly Span[], last: number): number[] =>
    [...new Set([0, last + 1, ...spans.flatMap(([from, to]) => [from, to + 1])])].toSorted((a, b) => a - b);
  const hosts = cuts(
    rules.map((rule) => rule.hosts),
    lastHost,
  );
  const ports = cuts(
    rules.map((rule) => rule.ports),
    lastPort,
  );
  const counts = range(rules.length + 1).map(() => 0);
  for (const [row, host] of hosts.slice(0, -1).entries())
    for (const [column, port] of ports.slice(0, -1).entries()) {
      const found = rules.findIndex(
        (rule) => host >= rule.hosts[0] && host <= rule.hosts[1] && port >= rule.ports[0] && port <= rule.ports[1],
      );
      const place = found < 0 ? rules.length : found;
      counts[place] = at(counts, place) + (at(hosts, row + 1) - host) * (at(ports, column + 1) - port);
    }
  return { counts, cells: (hosts.length - 1) * (ports.length - 1) };
}
