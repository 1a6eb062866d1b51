/** route-lookup: the interface of each packet by the longest prefix, where gateways are looked up again. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { addressText, type Block, blockAround, blockSize, blockText, isInside } from "./addresses.ts";

interface Route {
  block: Block;
  /** An interface, or the address of a gateway. */
  port: string | null;
  gateway: number | null;
}
export interface RouteProblem {
  routes: Route[];
  packets: number[];
}

/** By level: routes, packets, and the share (of 10) of routes through a gateway. */
const SIZES = [
  [5, 4, 0],
  [7, 5, 2],
  [10, 6, 3],
  [13, 7, 4],
  [17, 9, 4],
] as const;
const PORTS = ["eth0", "eth1", "eth2", "wlan0", "tun0", "ppp0"];
const DEEPEST = 6;

export const routeLookup = itemRow<RouteProblem>({
  id: "route-lookup",
  asks: "the interface of packets by longest prefixes and gateways that are looked up in turn",
  form: "list",
  tries: 40,
  make,
  prompts: [
    (one) =>
      `Routing table:\n${tableText(one)}\n\nThe route with the longest matching prefix decides. A gateway is an address that is looked up in the same table in its turn, until a route names an interface. Through which interface do packets to ${packetsText(one)} leave? Answer with the interfaces in this order, separated by commas; "unreachable" where no route matches somewhere on the way.`,
    (one) =>
      `A router forwards packets to ${packetsText(one)}.\n\nIts table, in no special order:\n${tableText(one)}\n\nState the outgoing interface of each packet in the given order, comma-separated. Among matching routes the most specific one wins; "via" means: look up the gateway's address again. If a lookup finds nothing, write unreachable.`,
    (one) =>
      `Resolve recursively. Destinations: ${packetsText(one)}.\n\n${tableText(one)}\n\nEach destination takes the most specific route that contains it; a route via a gateway is resolved by a lookup of that gateway. List the resulting interface names (or unreachable, if some lookup fails), with commas, one for each destination in order.`,
    (one) =>
      `Someone printed this forwarding table:\n\n${tableText(one)}\n\nFor the ${one.packets.length} destinations ${packetsText(one)} write where the packet goes out: an interface name, or "unreachable" without any matching route. Longest prefix first; gateways are destinations for another lookup. Use commas between the names.`,
  ],
});

function tableText({ routes }: RouteProblem): string {
  return routes
    .map(
      ({ block, port, gateway }) =>
        `${blockText(block)} ${port === null ? `via ${addressText(gateway ?? 0)}` : `dev ${port}`}`,
    )
    .join("\n");
}

function packetsText({ packets }: RouteProblem): string {
  return packets.map(addressText).join(", ");
}

function make(rng: Rng, level: Level) {
  const [count, wanted, share] = at(SIZES, level - 1);
  const root = blockAround(between(rng, 10, 200) * 2 ** 24, 8);
  const blocks: Block[] = [root];
  while (blocks.length < count) {
    const parent = rng.pick(blocks);
    if (parent.length > 27) continue;
    const block = blockAround(
      parent.base + rng.integer(blockSize(parent)),
      Math.min(30, parent.length + between(rng, 2, 7)),
    );
    if (!blocks.some((other) => blockText(other) === blockText(block))) blocks.push(block);
  }
  const inBlock = (): number => {
    const block = rng.pick(blocks);
    return block.base + rng.integer(blockSize(block));
  };
  // The widest route is missing sometimes, so that packets may be unreachable.
  const used = rng.integer(3) === 0 ? blocks.slice(1) : blocks;
  const routes = shuffled(used, rng).map((block): Route =>
    rng.integer(10) < share
      ? { block, port: null, gateway: inBlock() }
      : { block, port: rng.pick(PORTS), gateway: null },
  );
  const problem = { routes, packets: range(wanted).map(inBlock) };
  const found = problem.packets.map((packet) => resolve(routes, packet, longest));
  if (found.some((one) => one === null)) return null;
  const items = found.map((one) => one?.port ?? "");
  const hops = found.reduce((sum, one) => sum + (one?.lookups ?? 0), 0);
  if (new Set(items).size < Math.min(3, wanted - 1) || (share > 0 && hops === wanted)) return null;
  const first = problem.packets.map(
    (packet) => resolve(routes, packet, (matching) => matching[0])?.port ?? "unreachable",
  );
  const misses = [first, items.toReversed()];
  if (first.join() === items.join()) return null;
  return { problem, items, misses, effort: hops * routes.length };
}

function longest(matching: readonly Route[]): Route | undefined {
  return matching.toSorted((a, b) => b.block.length - a.block.length)[0];
}

/** Null where gateways lead around in a circle. */
function resolve(
  routes: readonly Route[],
  packet: number,
  choose: (matching: readonly Route[]) => Route | undefined,
): { port: string; lookups: number } | null {
  let target = packet;
  for (let lookups = 1; lookups <= DEEPEST; lookups++) {
    const route = choose(routes.filter(({ block }) => isInside(target, block)));
    if (route === undefined) return { port: "unreachable", lookups };
    if (route.port !== null) return { port: route.port, lookups };
    target = route.gateway ?? 0;
  }
  return null;
}
