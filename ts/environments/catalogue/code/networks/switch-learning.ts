/** switch-learning: the hosts that receive each frame in a tree of switches that learn addresses and forget them. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Event = { do: "send"; from: string; to: string } | { do: "move"; host: string; to: number };
export interface SwitchProblem {
  /** The switch to which each switch but the first is linked. */
  parents: number[];
  /** Switch of each host, by letter. */
  homes: number[];
  events: Event[];
}

/** By level: switches, hosts, events. */
const SIZES = [
  [1, 4, 5],
  [2, 5, 6],
  [3, 6, 8],
  [4, 7, 10],
  [5, 8, 13],
] as const;

export const switchLearning = itemRow<SwitchProblem>({
  id: "switch-learning",
  asks: "the hosts that receive each frame in a tree of learning switches after hosts have moved",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${network(one)}\n\n${RULES}\n\nEvents:\n${events(one)}\n\nWhich hosts does each frame reach? One line for each sent frame: the letters in alphabetical order, separated by spaces, or - for none.`,
    (one) =>
      `Ethernet switches, all tables empty.\n${network(one)}\n\n${events(one)}\n\n${RULES}\n\nFor every frame that is sent, write a line with the hosts to which it is delivered (sorted letters, spaces between, - if it is delivered to no host).`,
    (one) =>
      `${RULES}\n\n${network(one)}\n\nThen this happens in order:\n${events(one)}\n\nList, frame by frame, the set of receiving hosts; a line per frame, letters ascending with spaces, and - for the empty set.`,
    (one) =>
      `A host listens to everything that arrives at its port. In the network below, who hears which frame?\n\n${network(one)}\n\n${events(one)}\n\n${RULES}\n\nAnswer with one line per frame in order: hearing hosts by letter, alphabetically, space-separated; - when there is none.`,
  ],
});

const RULES =
  "A switch that gets a frame notes the port of arrival for the sender's address, in place of an older note. If it has a note for the receiver's address, it sends the frame out of that port only, or drops it where that is the port of arrival; otherwise it sends the frame out of every other port. A host that moves takes its address to a port that was empty; nothing is noted before it sends, and its old port is empty then.";

function network({ parents, homes }: SwitchProblem): string {
  const links = parents.map((parent, index) => `S${index + 2} is linked to S${parent + 1}.`);
  const hosts = homes.map((home, index) => `${letter(index)} at S${home + 1}`);
  return `${links.join(" ")}${links.length > 0 ? "\n" : ""}Hosts, each at a port for itself: ${hosts.join(", ")}.`;
}

function events({ events: all }: SwitchProblem): string {
  return all
    .map((event) =>
      event.do === "send" ? `${event.from} sends a frame to ${event.to}` : `${event.host} moves to S${event.to + 1}`,
    )
    .join("\n");
}

function letter(index: number): string {
  return "ABCDEFGHIJ".charAt(index);
}

function make(rng: Rng, level: Level) {
  const [switches, hosts, count] = at(SIZES, level - 1);
  const parents = range(switches - 1).map((index) => rng.integer(index + 1));
  const homes = range(hosts).map((index) => (index < switches ? index : rng.integer(switches)));
  const talkers = range(Math.min(hosts, 3 + Math.floor(level / 2))).map(letter);
  const all = range(count).map((index): Event => {
    if (switches > 1 && index > 1 && index < count - 2 && rng.integer(5) === 0)
      return { do: "move", host: rng.pick(talkers), to: rng.integer(switches) };
    const from = rng.pick(talkers);
    return { do: "send", from, to: rng.pick(talkers.filter((one) => one !== from)) };
  });
  const problem: SwitchProblem = { parents, homes, events: all };
  const { items, visits } = deliver(problem, true);
  const moves = all.filter((event) => event.do === "move").length;
  if (moves < Number(level > 1) + Number(level > 3) || new Set(items).size < Math.min(4, items.length - 1)) return null;
  const ideal = all.flatMap((event) => (event.do === "send" ? [event.to] : []));
  const misses = [deliver(problem, false).items, ideal];
  return { problem, items, misses, effort: visits + count };
}

/** Ports are names: `S2` for a link, and the host with its arrival number for a host, so that an old port stays empty. */
function deliver({ parents, homes, events: all }: SwitchProblem, learns: boolean) {
  const links = range(parents.length + 1).map((): number[] => []);
  for (const [index, parent] of parents.entries()) {
    at(links, parent).push(index + 1);
    at(links, index + 1).push(parent);
  }
  const places = new Map(homes.map((home, index) => [letter(index), { home, port: letter(index) }]));
  const notes = links.map(() => new Map<string, string>());
  let visits = 0;
  let moved = 0;
  const items: string[] = [];
  for (const event of all) {
    if (event.do === "move") {
      moved += 1;
      places.set(event.host, { home: event.to, port: `${event.host}${moved}` });
      continue;
    }
    const heard: string[] = [];
    const enter = (index: number, port: string): void => {
      visits += 1;
      const table = at(notes, index);
      if (learns) table.set(event.from, port);
      const known = table.get(event.to);
      const hosts = [...places].filter(([, place]) => place.home === index && place.port !== port);
      const outs = known === undefined ? null : known === port ? "" : known;
      for (const [host, place] of hosts) if (outs === null || outs === place.port) heard.push(host);
      for (const next of at(links, index))
        if (`S${next}` !== port && (outs === null || outs === `S${next}`)) enter(next, `S${index}`);
    };
    const source = places.get(event.from);
    if (source !== undefined) enter(source.home, source.port);
    items.push(heard.toSorted().join(" ") || "-");
  }
  return { items, visits };
}
