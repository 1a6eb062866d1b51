/** Answers of the rows about networks against Python's and Node's libraries, and against methods that share nothing with the rows. */
import { expect, test } from "vitest";

import {
  acknowledgementTrace,
  type SegmentProblem,
} from "../../../../../ts/environments/catalogue/code/networks/acknowledgement-trace.ts";
import { addressText, blockText } from "../../../../../ts/environments/catalogue/code/networks/addresses.ts";
import {
  type AggregationProblem,
  prefixAggregation,
} from "../../../../../ts/environments/catalogue/code/networks/prefix-aggregation.ts";
import {
  type ReferenceProblem,
  referenceResolution,
} from "../../../../../ts/environments/catalogue/code/networks/reference-resolution.ts";
import { routeLookup, type RouteProblem } from "../../../../../ts/environments/catalogue/code/networks/route-lookup.ts";
import {
  type FilterProblem,
  rulePacketCounts,
} from "../../../../../ts/environments/catalogue/code/networks/rule-packet-counts.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "./interpreters.ts";

const without = HAS_PYTHON ? "" : " (there is no python3 here)";

test.skipIf(!HAS_PYTHON)(`prefix-aggregation: Python collapses the addresses alike${without}`, () => {
  const drawn = drawnOf<Answer<AggregationProblem>>(prefixAggregation);
  const sources = drawn.map(
    ({ problem }) => `import ipaddress
for one in ipaddress.collapse_addresses(map(ipaddress.ip_network, ${JSON.stringify(problem.blocks.map(blockText))})): print(one)`,
  );
  expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
});

test.skipIf(!HAS_PYTHON)(`route-lookup: a lookup with Python's address library agrees${without}`, () => {
  const drawn = drawnOf<Answer<RouteProblem>>(routeLookup);
  const sources = drawn.map(({ problem }) => {
    const routes = problem.routes.map(({ block, port, gateway }) => [
      blockText(block),
      port ?? "",
      gateway === null ? "" : addressText(gateway),
    ]);
    return `from ipaddress import ip_address, ip_network
routes = [(ip_network(net), port, gateway) for net, port, gateway in ${JSON.stringify(routes)}]
def find(address):
    fitting = [route for route in routes if ip_address(address) in route[0]]
    if not fitting: return "unreachable"
    net, port, gateway = max(fitting, key=lambda route: route[0].prefixlen)
    return port or find(gateway)
for address in ${JSON.stringify(problem.packets.map(addressText))}: print(find(address))`;
  });
  expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
});

test("reference-resolution: the URL class of the platform agrees", () => {
  for (const { problem, items } of drawnOf<Answer<ReferenceProblem>>(referenceResolution)) {
    let base = problem.page;
    const found = problem.steps.map((step) => (base = new URL(step, base).href));
    expect(found).toEqual(items);
  }
});

test("rule-packet-counts: counting every packet agrees", () => {
  for (const { problem, items } of drawnOf<Answer<FilterProblem>>(rulePacketCounts, [1, 2, 3])) {
    const counts = [...problem.rules, null].map(() => 0);
    for (let host = 0; host <= problem.lastHost; host++)
      for (let port = 0; port <= problem.lastPort; port++) {
        const fits = problem.rules.map(
          ({ hosts, ports }) => hosts[0] <= host && host <= hosts[1] && ports[0] <= port && port <= ports[1],
        );
        const place = fits.includes(true) ? fits.indexOf(true) : counts.length - 1;
        counts[place] = (counts[place] ?? 0) + 1;
      }
    expect(counts.map(String)).toEqual(items);
  }
});

test("acknowledgement-trace: a receiver that marks single bytes agrees", () => {
  const word = 2 ** 32;
  for (const { problem, items } of drawnOf<Answer<SegmentProblem>>(acknowledgementTrace)) {
    const bytes: boolean[] = [];
    const found = problem.segments.map(({ sequence, length }) => {
      const offset = (sequence - problem.start + word) % word;
      for (let byte = 0; byte < length; byte++) {
        const place = (offset + byte) % word;
        if (place < word / 2) bytes[place] = true;
      }
      const edges = Array.from({ length: bytes.length + 1 }, (_, place) => place).filter(
        (place) => (bytes[place] ?? false) !== (bytes[place - 1] ?? false),
      );
      const whole = bytes[0] === true ? edges : [0, 0, ...edges];
      const numbers = whole.map((place) => (problem.start + place) % word);
      const pairs = numbers.flatMap((one, place) => (place % 2 === 1 ? [[numbers[place - 1], one]] : []));
      return [String(pairs[0]?.[1]), ...pairs.slice(1).map((pair) => pair.join("-"))].join(" ");
    });
    expect(found).toEqual(items);
  }
});
