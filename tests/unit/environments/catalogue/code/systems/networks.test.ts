/** Answers of the rows about networks against Python's and Node's libraries, and against methods that share nothing with the rows. */
import { expect, test } from "vitest";

import {
  acknowledgementTrace,
  type SegmentProblem,
} from "../../../../../../ts/environments/catalogue/code/networks/acknowledgement-trace.ts";
import { addressText, blockText } from "../../../../../../ts/environments/catalogue/code/networks/addresses.ts";
import {
  type AggregationProblem,
  prefixAggregation,
} from "../../../../../../ts/environments/catalogue/code/networks/prefix-aggregation.ts";
import {
  type ReferenceProblem,
  referenceResolution,
} from "../../../../../../ts/environments/catalogue/code/networks/reference-resolution.ts";
import {
  routeLookup,
  type RouteProblem,
} from "../../../../../../ts/environments/catalogue/code/networks/route-lookup.ts";
import {
  type FilterProblem,
  rulePacketCounts,
} from "../../../../../../ts/environments/catalogue/code/networks/rule-packet-counts.ts";
import {
  type CookieProblem,
  cookieScope,
} from "../../../../../../ts/environments/catalogue/code/networks/cookie-scope.ts";
import {
  type CacheProblem,
  sharedCacheVerdicts,
} from "../../../../../../ts/environments/catalogue/code/networks/shared-cache-verdicts.ts";
import {
  switchLearning,
  type SwitchProblem,
} from "../../../../../../ts/environments/catalogue/code/networks/switch-learning.ts";
import {
  translatedPackets,
  type TranslationProblem,
} from "../../../../../../ts/environments/catalogue/code/networks/translated-packets.ts";
import {
  zoneAnswers,
  type ZoneProblem,
} from "../../../../../../ts/environments/catalogue/code/networks/zone-answers.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "../interpreters.ts";

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

test("zone-answers: a tree of labels that is walked from the zone downwards agrees", () => {
  interface Node {
    readonly children: Map<string, Node>;
    readonly records: Map<string, string>;
  }
  for (const { problem, items } of drawnOf<Answer<ZoneProblem>>(zoneAnswers)) {
    const fresh = (): Node => ({ children: new Map(), records: new Map() });
    const root = fresh();
    const below = (name: string): string[] => name.split(".").slice(0, -problem.zone.split(".").length).toReversed();
    for (const { name, type, value } of problem.entries) {
      let node = root;
      for (const label of below(name)) {
        const next = node.children.get(label) ?? fresh();
        node.children.set(label, next);
        node = next;
      }
      if (!node.records.has(type)) node.records.set(type, value);
    }
    const find = (name: string, type: string): string => {
      let node: Node | undefined = root;
      let isWild = false;
      const labels = below(name);
      // Delegations above or at the name come first, even where the way ends at a wildcard.
      for (const label of labels) {
        const next: Node | undefined = node.children.get(label);
        if (next?.records.has("NS") === true) return "REFERRAL";
        if (next === undefined) {
          isWild = true;
          break;
        }
        node = next;
      }
      const owner: Node | undefined = isWild ? node.children.get("*") : node;
      if (owner === undefined || (isWild && owner.records.size === 0)) return "NXDOMAIN";
      const direct = owner.records.get(type);
      if (direct !== undefined) return direct;
      const alias = owner.records.get("CNAME");
      return alias === undefined ? "NODATA" : find(alias, type);
    };
    expect(problem.queries.map(({ name, type }) => find(name, type))).toEqual(items);
  }
});

test("cookie-scope: looking back through the history for each request agrees", () => {
  for (const { problem, items } of drawnOf<Answer<CookieProblem>>(cookieScope)) {
    const parts = (path: string): string[] => path.split("/").filter((one) => one !== "");
    const ends = (host: string, domain: string): boolean => `.${host}`.endsWith(`.${domain}`);
    const settings = problem.events.flatMap((event, minute) => {
      if (event.do !== "set") return [];
      const { setting } = event;
      if (setting.domain !== null && !ends(setting.host, setting.domain)) return [];
      const folder = `/${parts(setting.path.replace(/[^/]*$/u, "")).join("/")}`;
      const path = setting.scope ?? folder;
      const id = [setting.name, setting.domain ?? setting.host, path].join("|");
      return [{ ...setting, minute, id, path, gone: setting.life === null ? Infinity : minute + setting.life }];
    });
    const sent = problem.events.flatMap((event, now) => {
      if (event.do !== "get") return [];
      const before = settings.filter(({ minute }) => minute < now);
      const newest = before.filter((one) => !before.some((other) => other.id === one.id && other.minute > one.minute));
      const fitting = newest.filter((one) => {
        const onHost = one.domain === null ? one.host === event.host : ends(event.host, one.domain);
        const wanted = parts(one.path);
        const onPath = wanted.every((part, place) => parts(event.path)[place] === part);
        return onHost && onPath && one.gone > now && (event.secure || !one.secure);
      });
      // The time of creation is that of the oldest setting since the cookie was gone for the last time.
      const created = fitting.map((one) => {
        const line = before.filter(({ id }) => id === one.id).toSorted((a, b) => a.minute - b.minute);
        let start = 0;
        for (let place = 1; place < line.length; place++)
          if ((line[place - 1]?.gone ?? 0) <= (line[place]?.minute ?? 0)) start = place;
        return { ...one, since: line[start]?.minute ?? 0 };
      });
      const order = created.toSorted((a, b) => b.path.length - a.path.length || a.since - b.since);
      return [order.map(({ name, value }) => `${name}=${value}`).join(" ") || "-"];
    });
    expect(sent).toEqual(items);
  }
});

test("translated-packets: the age of each mapping is found by looking back through the packets", () => {
  for (const { problem, items } of drawnOf<Answer<TranslationProblem>>(translatedPackets)) {
    const { shares, filter, firstPort, timeout, packets } = problem;
    // Of each outgoing packet: the mapping's number, which begins anew after a pause.
    const made: { key: string; port: number; uses: number[]; peers: string[]; inner: string }[] = [];
    const found = packets.map(({ time, outward, inner, port, peer }) => {
      const living = made.filter(({ uses }) => time - (uses.at(-1) ?? 0) < timeout);
      if (!outward) {
        const mapping = living.find((one) => one.port === port);
        const hosts = mapping?.peers.map((one) => one.replace(/:.*/u, ""));
        const isKnown = {
          any: true,
          host: hosts?.includes(peer.replace(/:.*/u, "")) === true,
          socket: mapping?.peers.includes(peer) === true,
        }[filter];
        return mapping !== undefined && isKnown ? mapping.inner : "dropped";
      }
      const key = `${inner}${shares ? "" : peer}`;
      const known = living.find((one) => one.key === key);
      if (known !== undefined) {
        known.uses.push(time);
        known.peers.push(peer);
        return String(known.port);
      }
      const taken = new Set(living.map((one) => one.port));
      const free = Array.from({ length: 99 }, (_, index) => firstPort + index).find((one) => !taken.has(one)) ?? 0;
      made.push({ key, port: free, uses: [time], peers: [peer], inner });
      return String(free);
    });
    expect(found).toEqual(items);
  }
});

test("shared-cache-verdicts: the last fetch and the last check are found by looking back through the verdicts", () => {
  for (const { problem, items } of drawnOf<Answer<CacheProblem>>(sharedCacheVerdicts)) {
    const found: string[] = [];
    for (const [index, { time, path, language, noCache }] of problem.requests.entries()) {
      const resource = problem.resources.find((one) => one.path === path);
      const control = new Map(resource?.directives.map(({ name, value }) => [name, value ?? true]));
      const earlier = problem.requests
        .slice(0, index)
        .map((one, place) => ({ ...one, verdict: found[place] ?? "" }))
        .filter((one) => one.path === path && (resource?.varies !== true || one.language === language));
      const fetched = earlier.findLast(({ verdict }) => verdict === "miss" || verdict === "replaced");
      const checked = earlier.findLast(({ verdict }) => verdict !== "hit");
      if (control.has("no-store") || control.has("private") || fetched === undefined) {
        found.push("miss");
        continue;
      }
      const life = Number(control.get("s-maxage") ?? control.get("max-age"));
      const isHit = time - (checked?.time ?? 0) < life && !control.has("no-cache") && !noCache;
      const isNew = resource?.changes.some((change) => fetched.time < change && change <= time) === true;
      found.push(isHit ? "hit" : isNew ? "replaced" : "revalidated");
    }
    expect(found).toEqual(items);
  }
});

test("switch-learning: frames that spread switch by switch through a table of links agree", () => {
  for (const { problem, items } of drawnOf<Answer<SwitchProblem>>(switchLearning)) {
    // The other end of each port of a switch: another switch, or a host that is plugged in.
    const links = problem.parents.map((parent, index) => [index + 1, parent] as const);
    const notes = new Map<string, string>();
    const plugs = new Map(
      problem.homes.map((home, index) => ["ABCDEFGHIJ".charAt(index), { home, port: `plug${index}` }]),
    );
    const found: string[] = [];
    for (const [time, event] of problem.events.entries()) {
      if (event.do === "move") {
        plugs.set(event.host, { home: event.to, port: `new${time}` });
        continue;
      }
      const heard: string[] = [];
      const start = plugs.get(event.from);
      const queue = start === undefined ? [] : [{ at: start.home, by: start.port }];
      for (const { at, by } of queue) {
        notes.set(`${at} ${event.from}`, by);
        const known = notes.get(`${at} ${event.to}`);
        const uses = (port: string): boolean => port !== by && (known === undefined || known === port);
        for (const [host, plug] of plugs) if (plug.home === at && uses(plug.port)) heard.push(host);
        for (const link of links) {
          const other = link[0] === at ? link[1] : link[1] === at ? link[0] : null;
          if (other !== null && uses(`to${other}`)) queue.push({ at: other, by: `to${at}` });
        }
      }
      found.push(heard.toSorted().join(" ") || "-");
    }
    expect(found).toEqual(items);
  }
});
