/** Probabilities against enumeration of all outcomes, or the iteration of a chain, in doubles. */
import { probability } from "../../../../../ts/environments/catalogue/math/probability/index.ts";
import { compareWith } from "./against-brute-force.ts";

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

function* lists(length: number, below: number): Generator<number[]> {
  if (length === 0) yield [];
  else for (const rest of lists(length - 1, below)) for (const value of upTo(below)) yield [...rest, value];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

const MOST = 40_000;

compareWith(probability, {
  "urn-conditionals": [
    2,
    ({
      urn,
      draws,
      asked,
      known,
      most,
    }: {
      urn: number[];
      draws: number;
      asked: number;
      known: number;
      most: number | null;
    }) => {
      const balls = urn.flatMap((count, colour) => upTo(count).map(() => colour));
      let [both, all] = [0, 0];
      for (const chosen of lists(draws, balls.length)) {
        if (new Set(chosen).size < draws) continue;
        const of = (colour: number): number => chosen.filter((ball) => balls[ball] === colour).length;
        if (of(1) < known || (most !== null && of(urn.length - 1) > most)) continue;
        all += 1;
        both += Number(of(0) >= asked);
      }
      return both / all;
    },
  ],
  "bayes-net-query": [
    4,
    ({
      nodes,
      query,
      evidence,
    }: {
      nodes: { parents: number[]; tenths: number[] }[];
      query: number;
      evidence: [number, boolean][];
    }) => {
      const walk = (values: boolean[], weight: number): [number, number] => {
        const node = nodes[values.length];
        if (node === undefined) return values[query] === true ? [weight, weight] : [0, weight];
        const line = sum(node.parents.map((parent, place) => (values[parent] === true ? 2 ** place : 0)));
        const yes = (node.tenths[line] ?? 0) / 10;
        const known = evidence.find(([at]) => at === values.length)?.[1];
        const parts = [true, false].filter((value) => known === undefined || value === known);
        const results = parts.map((value) => walk([...values, value], weight * (value ? yes : 1 - yes)));
        return [sum(results.map(([both]) => both)), sum(results.map(([, all]) => all))];
      };
      const [both, all] = walk([], 1);
      return both / all;
    },
  ],
  "absorbing-chain": [
    3,
    ({ weights, start, asksTime }: { weights: number[][]; start: number; asksTime: boolean }) => {
      let mass = upTo(weights.length + 2).map((place) => Number(place === start));
      let time = 0;
      for (let move = 0; move < 20_000; move++) {
        const inside = sum(mass.slice(0, weights.length));
        if (inside < 1e-14) break;
        time += inside;
        const after = mass.map((value, place) => (place < weights.length ? 0 : value));
        for (const [room, row] of weights.entries())
          for (const [place, weight] of row.entries())
            after[place] = (after[place] ?? 0) + ((mass[room] ?? 0) * weight) / sum(row);
        mass = after;
      }
      if (sum(mass.slice(0, weights.length)) > 1e-12) return null;
      return asksTime ? time : (mass[weights.length] ?? 0);
    },
  ],
  "dice-pool-odds": [
    3,
    ({
      dice,
      sides,
      kept,
      reroll,
      target,
    }: {
      dice: number;
      sides: number;
      kept: number;
      reroll: number;
      target: number;
    }) => {
      if (sides ** dice > MOST) return null;
      let chance = 0;
      for (const faces of lists(dice, sides)) {
        const best = faces
          .map((face) => face + 1)
          .toSorted((a, b) => b - a)
          .slice(0, kept);
        if (sum(best) < target) continue;
        chance += faces.reduce(
          (product, face) => product * (Number(face + 1 > reroll) / sides + reroll / sides / sides),
          1,
        );
      }
      return chance;
    },
  ],
  "order-statistics": [
    2,
    ({
      top,
      draws,
      rank,
      replaced,
      least,
    }: {
      top: number;
      draws: number;
      rank: number;
      replaced: boolean;
      least: number;
    }) => {
      let [total, count] = [0, 0];
      for (const drawn of lists(draws, top - least + 1)) {
        if (!replaced && new Set(drawn).size < draws) continue;
        total += least + (drawn.toSorted((a, b) => a - b)[rank - 1] ?? 0);
        count += 1;
      }
      return total / count;
    },
  ],
  "stopping-policy": [
    3,
    ({ offers, stages, cost, recall }: { offers: number[]; stages: number; cost: number; recall: boolean }) => {
      const play = (seen: readonly number[]): number =>
        sum(
          offers.map((offer) => {
            const open = recall ? [offer, ...seen.slice(-1)] : [offer];
            const stop = Math.max(...open);
            return seen.length + 1 === stages ? stop : Math.max(stop, play([...seen, offer]) - cost);
          }),
        ) / offers.length;
      return play([]);
    },
  ],
  "mixed-equilibrium": [
    2,
    ({ payoffs: [first = [], second = []] }: { payoffs: number[][] }) => {
      // Two rows: the lower envelope of lines is highest at an end or where two lines meet.
      const lines = first.map((a, column) => [a, second[column] ?? 0] as const);
      const meetings = lines
        .flatMap(([a, b]) => lines.map(([c, d]) => (d - b) / (a - b - c + d)))
        .filter((p) => p > 0 && p < 1);
      const lowest = (p: number): number => Math.min(...lines.map(([a, b]) => p * a + (1 - p) * b));
      return Math.max(...[0, 1, ...meetings].map(lowest));
    },
  ],
  "pattern-waiting-odds": [
    2,
    ({ weights, patterns }: { weights: number[]; patterns: string[] }) => {
      const longest = Math.max(...patterns.map(({ length }) => length));
      let [mass, won, time] = [new Map([["", 1]]), 0, 0];
      for (let letter = 0; letter < 3_000; letter++) {
        const after = new Map<string, number>();
        for (const [state, chance] of mass) {
          time += chance;
          for (const [index, weight] of weights.entries()) {
            const text = `${state}${"ABC"[index] ?? ""}`.slice(-longest);
            const part = (chance * weight) / sum(weights);
            const ended = patterns.findIndex((pattern) => text.endsWith(pattern));
            if (ended === 0) won += part;
            else if (ended < 0) after.set(text, (after.get(text) ?? 0) + part);
          }
        }
        mass = after;
      }
      if (sum([...mass.values()]) > 1e-12) return null;
      return patterns.length === 1 ? time : won;
    },
  ],
  "collision-odds": [
    2,
    ({ weights, balls, event, number }: { weights: number[]; balls: number; event: string; number: number }) => {
      let chance = 0;
      for (const places of lists(balls, weights.length)) {
        const counts = weights.map((_, box) => places.filter((place) => place === box).length);
        const holds =
          event === "empty"
            ? counts.filter((count) => count === 0).length === number
            : counts.some((count) => count > number);
        if (holds) chance += places.reduce((product, place) => (product * (weights[place] ?? 0)) / sum(weights), 1);
      }
      return chance;
    },
  ],
  "expected-structure-count": [
    1,
    (one: {
      counts: number[];
      isCircle: boolean;
      terms: { kind: string; length: number; word: number[]; points: number }[];
    }) => {
      const letters = one.counts.flatMap((count, letter) => upTo(count).map(() => letter));
      let [points, orders] = [0, 0];
      const place = (order: number[], left: number[]): void => {
        for (const [at, letter] of left.entries()) place([...order, letter], left.toSpliced(at, 1));
        if (left.length > 0) return;
        orders += 1;
        for (const term of one.terms) {
          const windows = one.isCircle ? order.length : order.length - term.length + 1;
          for (const begin of upTo(windows)) {
            const window = upTo(term.length).map((at) => order[(begin + at) % order.length] ?? 0);
            const kinds = new Set(window).size;
            const counts = {
              equal: kinds === 1,
              different: kinds === term.length,
              word: window.join() === term.word.join(),
            };
            if (counts[term.kind as "equal" | "different" | "word"]) points += term.points;
          }
        }
      };
      place([], letters);
      return points / orders;
    },
  ],
  "geometric-region-odds": [
    5,
    (one: {
      x: [number, number];
      y: [number, number];
      asked: [number, number, number][];
      known: [number, number, number][];
    }) => {
      // The length of a vertical cut is linear between the places where two border lines meet.
      const area = (planes: [number, number, number][]): number => {
        const heights = (x: number): [number, number] => {
          let [low, high] = one.y;
          for (const [a, b, c] of planes) {
            const edge = (c - a * x) / b;
            if (b > 0) high = Math.min(high, edge);
            else low = Math.max(low, edge);
          }
          return [low, high];
        };
        const lines = [...planes, [0, 1, one.y[0]] as const, [0, 1, one.y[1]] as const];
        const meets = lines.flatMap(([a, b, c]) =>
          lines.flatMap(([d, e, f]) => (a * e === b * d ? [] : [(c * e - b * f) / (a * e - b * d)])),
        );
        const cuts = [...one.x, ...meets].filter((x) => x >= one.x[0] && x <= one.x[1]).toSorted((a, b) => a - b);
        return sum(
          cuts.slice(1).map((right, at) => {
            const left = cuts[at] ?? right;
            const [low, high] = heights((left + right) / 2);
            return Math.max(0, high - low) * (right - left);
          }),
        );
      };
      return area([...one.known, ...one.asked]) / area(one.known);
    },
  ],
  "density-transform": [
    5,
    (one: { heights: number[]; width: number; shape: string; bend: number }) => {
      const value = (x: number): number => {
        if (one.shape === "deviation") return Math.abs(x - one.bend);
        if (one.shape === "excess") return Math.max(x - one.bend, 0);
        return one.shape === "larger" ? Math.max(x, one.bend) : Math.min(x, one.bend) ** 2;
      };
      const density = (x: number): number => {
        const piece = Math.min(Math.floor(x / one.width), one.heights.length - 2);
        const [left = 0, right = 0] = one.heights.slice(piece);
        return left + ((right - left) * (x - piece * one.width)) / one.width;
      };
      // Simpson's rule is exact for polynomials of degree 3, and both factors are polynomials between whole numbers.
      const integral = (f: (x: number) => number): number =>
        sum(upTo((one.heights.length - 1) * one.width).map((x) => (f(x) + 4 * f(x + 0.5) + f(x + 1)) / 6));
      return integral((x) => density(x) * value(x)) / integral(density);
    },
  ],
  "joint-table-moments": [
    5,
    (one: {
      xs: number[];
      ys: number[];
      weights: number[][];
      asks: string;
      a: number;
      b: number;
      least: number | null;
    }) => {
      const cases = one.xs.flatMap((x, i) =>
        one.ys.flatMap((y, j) =>
          x + y >= (one.least ?? -99) ? upTo(one.weights[i]?.[j] ?? 0).map(() => [x, y] as const) : [],
        ),
      );
      const second = ([x, y]: readonly [number, number]): number => one.a * x + one.b * y;
      const first = one.asks === "variance" ? second : ([x]: readonly [number, number]): number => x;
      // Half of the mean product of the differences of two independent cases.
      let products = 0;
      for (const u of cases) for (const v of cases) products += (first(u) - first(v)) * (second(u) - second(v));
      return products / 2 / cases.length ** 2;
    },
  ],
  "posterior-predictive-urns": [
    4,
    (one: { urns: number[][]; prior: number[]; isPutBack: boolean; seen: number[]; next: number[] }) => {
      const all = [...one.seen, ...one.next];
      let [both, known] = [0, 0];
      for (const [kind, urn] of one.urns.entries()) {
        const balls = urn.flatMap((count, colour) => upTo(count).map(() => colour));
        // Every way to draw single balls, each as likely as the others of the urn.
        const walk = (drawn: number[], weight: number): void => {
          const step = drawn.length;
          if (step === one.seen.length) known += weight;
          if (step === all.length) both += weight;
          else
            for (const ball of upTo(balls.length)) {
              if (balls[ball] !== all[step] || (!one.isPutBack && drawn.includes(ball))) continue;
              walk([...drawn, ball], weight / (one.isPutBack ? balls.length : balls.length - step));
            }
        };
        if (Math.max(...urn) ** all.length <= MOST) walk([], one.prior[kind] ?? 0);
        else return null;
      }
      return both / known;
    },
  ],
});
