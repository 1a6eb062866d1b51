/** Channels for stations: near stations keep a distance between theirs, and low channels are cheap. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, dice, slack, sortedBy, sum } from "../geometry.ts";

interface Rules {
  /** Largest distance of channels that a pair may need, and the highest price of a channel. */
  readonly apart: number;
  readonly dearest: number;
  /** Pairs for each ten stations. */
  readonly density: number;
  /** What the first channel costs, for each unit of the price, beside its number. */
  readonly ground: number;
}

interface Data {
  readonly prices: readonly number[];
  readonly pairs: readonly (readonly [a: number, b: number, apart: number])[];
}

/** Steps of other searches for one of this, which touches all neighbours. */
const STEPS_OF_MOVE = 5;
const HEAT = 12;

export const channelPlan = defineGeometry<Rules, Data>({
  id: "channel-plan",
  rules: (rng, sides) => ({
    apart: 1 + sides,
    dearest: between(rng, 5, 20),
    density: between(rng, 25, 45),
    ground: between(rng, 0, 5),
  }),
  draw,
  input: ({ prices, pairs }, first) => [
    [prices.length, pairs.length],
    prices,
    ...pairs.map(([a, b, apart]) => [a + first, b + first, apart]),
  ],
  cost(rules, { prices, pairs }, plan) {
    const channels = plan.flat();
    if (channels.length !== prices.length || channels.some((channel) => channel < 1)) return null;
    if (pairs.some(([a, b, apart]) => Math.abs(at(channels, a) - at(channels, b)) < apart)) return null;
    return sum(channels.map((channel, index) => (channel + rules.ground) * at(prices, index)));
  },
  isThing: () => false,
  plain: (_, data) => [greedy(data, [...data.prices.keys()])],
  search,
  bound: ({ ground }, { prices }) => (1 + ground) * sum(prices),
  python: {
    constants: ({ ground }) => `GROUND = ${ground}`,
    plain: `def read():
    n, m = take(), take()
    prices = takes(n)
    near = [[] for _ in range(n)]
    for _ in range(m):
        a, b, apart = take() - FIRST, take() - FIRST, take()
        near[a].append((b, apart))
        near[b].append((a, apart))
    return prices, near


def lowest(i, near, channel):
    taken = set()
    for j, apart in near[i]:
        if channel[j]:
            taken.update(range(channel[j] - apart + 1, channel[j] + apart))
    c = 1
    while c in taken:
        c += 1
    return c


def greedy(order, near):
    channel = [0] * len(near)
    for i in order:
        channel[i] = lowest(i, near, channel)
    return channel


def plain(prices, near):
    return [greedy(range(len(prices)), near)]
`,
    search: `def search(prices, near, steps):
    n = len(prices)
    channel = greedy(sorted(range(n), key=lambda i: -(prices[i] * 100 // (2 + len(near[i])))), near)
    moves = steps // ${STEPS_OF_MOVE}
    before, grown = list(channel), 0
    for move in range(moves):
        i = rnd(n)
        to = lowest(i, near, channel) if rnd(2) == 0 else 1 + rnd(channel[i])
        if to == channel[i]:
            continue
        pushed = [j for j, apart in near[i] if abs(channel[j] - to) < apart]
        old = [channel[i]] + [channel[j] for j in pushed]
        gain = (to - channel[i]) * prices[i]
        channel[i] = to
        for j in pushed:
            channel[j] = 0
        for j, was in zip(pushed, old[1:]):
            channel[j] = lowest(j, near, channel)
            gain += (channel[j] - was) * prices[j]
        if gain > slack(move, moves, ${HEAT}):
            for j, was in zip([i] + pushed, old):
                channel[j] = was
        else:
            grown += gain
    return [before if grown > 0 else channel]
`,
  },
  stories: [
    "Radio stations get channels, and those that hear each other need channels that differ.",
    "Exams are put into slots. Those with common students need slots that lie apart, and early slots are liked.",
    "Reviews of chapters are given to days; related chapters need some days between them.",
    "Antennas of a stadium choose frequencies by number.",
  ],
  task: ({ ground, apart }) =>
    `Give each station a channel, a whole number from 1 on. For each pair of the input the two channels differ by at least the number of the pair${apart === 1 ? ", which is 1" : ` (1 to ${apart})`}. The cost is the sum over all stations of the price times ${ground > 0 ? `(the channel plus ${ground})` : "the channel"}.`,
  inputText:
    "The first line has the number of stations and the number of pairs; the next line has the prices of the stations; each further line has the two stations of a pair and by how much their channels differ at least.",
  outputText: "one line with the channels of all stations, in the order of their numbers",
  plainText:
    "it goes through the stations in the order of their numbers and gives each the lowest channel that the stations before it allow",
});

type Near = readonly (readonly (readonly [other: number, apart: number])[])[];

function nearOf({ prices, pairs }: Data): Near {
  const near: [number, number][][] = prices.map(() => []);
  for (const [a, b, apart] of pairs) {
    at(near, a).push([b, apart]);
    at(near, b).push([a, apart]);
  }
  return near;
}

/** 0 is no channel yet. */
function lowest(station: number, near: Near, channels: readonly number[]): number {
  const taken = new Set<number>();
  for (const [other, apart] of at(near, station)) {
    const channel = at(channels, other);
    if (channel > 0) for (let one = channel - apart + 1; one < channel + apart; one++) taken.add(one);
  }
  let channel = 1;
  while (taken.has(channel)) channel += 1;
  return channel;
}

function greedy(data: Data, order: readonly number[]): number[] {
  const near = nearOf(data);
  const channels = data.prices.map(() => 0);
  for (const station of order) channels[station] = lowest(station, near, channels);
  return channels;
}

/** Gives a station another channel, and those that are in its way the lowest one that is left. */
function search(_: Rules, data: Data, steps: number): number[][] {
  const { prices } = data;
  const near = nearOf(data);
  const order = sortedBy(prices.length, (one) => -Math.floor((at(prices, one) * 100) / (2 + at(near, one).length)));
  const channels = greedy(data, order);
  const [before, rnd, moves] = [[...channels], dice(), Math.floor(steps / STEPS_OF_MOVE)];
  let grown = 0;
  for (let move = 0; move < moves; move++) {
    const station = rnd(prices.length);
    const old = at(channels, station);
    const to = rnd(2) === 0 ? lowest(station, near, channels) : 1 + rnd(old);
    if (to === old) continue;
    const pushed = at(near, station).flatMap(([other, apart]) =>
      Math.abs(at(channels, other) - to) < apart ? [[other, at(channels, other)] as const] : [],
    );
    let gain = (to - old) * at(prices, station);
    channels[station] = to;
    for (const [other] of pushed) channels[other] = 0;
    for (const [other, was] of pushed) {
      channels[other] = lowest(other, near, channels);
      gain += (at(channels, other) - was) * at(prices, other);
    }
    if (gain > slack(move, moves, HEAT)) {
      channels[station] = old;
      for (const [other, was] of pushed) channels[other] = was;
    } else grown += gain;
  }
  return [grown > 0 ? before : channels];
}

function draw(rng: Rng, { apart, dearest, density }: Rules, size: number): Data {
  const pairs = new Map<number, [number, number, number]>();
  for (let turn = 0; turn < Math.floor((size * density) / 10); turn++) {
    const [a, b] = [rng.integer(size), rng.integer(size)];
    if (a !== b) pairs.set(Math.min(a, b) * size + Math.max(a, b), [a, b, between(rng, 1, apart)]);
  }
  return { prices: range(size).map(() => between(rng, 1, dearest)), pairs: [...pairs.values()] };
}
