/** Random processes against enumeration of their outcomes, or step by step, in doubles. */
import { processes } from "../../../../../ts/environments/catalogue/math/processes/index.ts";
import { compareWith } from "./against-brute-force.ts";

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Mass below which the rest of an iteration cannot matter. */
const GONE = 1e-15;
const MOST_STEPS = 20_000;

compareWith(processes, {
  "network-reliability": [
    3,
    ({ nodes, links, needsAll }: { nodes: number; links: [number, number, number][]; needsAll: boolean }) => {
      let chance = 0;
      for (const mask of upTo(2 ** links.length)) {
        const works = (at: number): boolean => Math.floor(mask / 2 ** at) % 2 === 1;
        const reached = new Set([0]);
        for (const node of reached) {
          for (const [at, [a, b]] of links.entries()) {
            if (!works(at)) continue;
            if (a === node) reached.add(b);
            if (b === node) reached.add(a);
          }
        }
        const weight = links.reduce(
          (product, [, , tenths], at) => product * (works(at) ? tenths : 10 - tenths) * 0.1,
          1,
        );
        if (needsAll ? reached.size === nodes : reached.has(nodes - 1)) chance += weight;
      }
      return chance;
    },
  ],
  "long-run-reward": [
    3,
    ({ weights, rewards }: { weights: number[][]; rewards: number[] | null }) => {
      // Half of the steps stay, which changes nothing in the limit and makes it one.
      let law = weights.map(() => 1 / weights.length);
      for (let step = 0; step < 4_000; step++) {
        law = law.map(
          (mass, to) =>
            mass / 2 + sum(law.map((from, at) => (from / 2) * ((weights[at]?.[to] ?? 0) / sum(weights[at] ?? [])))),
        );
      }
      return rewards === null ? 1 / (law[0] ?? 1) : sum(law.map((mass, state) => mass * (rewards[state] ?? 0)));
    },
  ],
  "hidden-chain-smoothing": [
    4,
    (one: { start: number[]; moves: number[][]; signals: number[][]; seen: number[]; time: number; state: number }) => {
      let [both, all] = [0, 0];
      const walk = (path: number[], weight: number): void => {
        if (path.length === one.seen.length) {
          all += weight;
          if (path[one.time] === one.state) both += weight;
          return;
        }
        const last = path.at(-1);
        for (const next of upTo(one.start.length)) {
          const move = last === undefined ? (one.start[next] ?? 0) : (one.moves[last]?.[next] ?? 0);
          walk([...path, next], weight * move * (one.signals[next]?.[one.seen[path.length] ?? 0] ?? 0));
        }
      };
      walk([], 1);
      return both / all;
    },
  ],
  "branching-generations": [
    4,
    (one: { weights: number[]; question: string; generation: number; count: number }) => {
      const chances = one.weights.map((weight) => weight / sum(one.weights));
      // Laws of the number of children of several members together.
      const childrenOf = (members: number): number[] => {
        let law = [1];
        for (let member = 0; member < members; member++) {
          const next = upTo(law.length + chances.length - 1).map(() => 0);
          for (const [a, p] of law.entries())
            for (const [b, q] of chances.entries()) next[a + b] = (next[a + b] ?? 0) + p * q;
          law = next;
        }
        return law;
      };
      let states = new Map([["1,1", 1]]);
      for (let step = 0; step < one.generation; step++) {
        const after = new Map<string, number>();
        for (const [key, mass] of states) {
          const [size = 0, total = 0] = key.split(",").map(Number);
          for (const [children, chance] of childrenOf(size).entries()) {
            const next = `${children},${total + children}`;
            after.set(next, (after.get(next) ?? 0) + mass * chance);
          }
        }
        states = after;
      }
      const mean = (of: (size: number, total: number) => number): number =>
        sum(
          [...states].map(([key, mass]) => {
            const [size = 0, total = 0] = key.split(",").map(Number);
            return mass * of(size, total);
          }),
        );
      if (one.question === "variance") return mean((size) => size ** 2) - mean((size) => size) ** 2;
      if (one.question === "total") return mean((_, total) => Number(total === one.count));
      return mean((size) => Number(size === one.count));
    },
  ],
  "graph-cover-time": [
    2,
    ({ nodes, edges, start, lazy }: { nodes: number; edges: [number, number][]; start: number; lazy: number }) => {
      let mass = new Map([[`${start}|${2 ** start}`, 1]]);
      let time = 0;
      for (let step = 0; step < MOST_STEPS; step++) {
        const after = new Map<string, number>();
        for (const [key, chance] of mass) {
          const [place = 0, seen = 0] = key.split("|").map(Number);
          const near = edges.flatMap(([a, b]) => (a === place ? [b] : b === place ? [a] : []));
          const add = (next: number, part: number): void => {
            const bit = 2 ** next;
            const now = Math.floor(seen / bit) % 2 === 1 ? seen : seen + bit;
            if (now < 2 ** nodes - 1) after.set(`${next}|${now}`, (after.get(`${next}|${now}`) ?? 0) + part);
          };
          if (lazy > 0) add(place, (chance * lazy) / 10);
          for (const next of near) add(next, (chance * (10 - lazy)) / 10 / near.length);
        }
        time += sum([...mass.values()]);
        mass = after;
        if (sum([...mass.values()]) < GONE) return time;
      }
      return null;
    },
  ],
  "match-score-race": [
    4,
    (one: { chances: [number, number][]; rule: string; target: number; score: [number, number]; lead: number }) => {
      let mass = new Map([[`${one.score.join()},0`, 1]]);
      let won = 0;
      for (let rally = 0; rally < MOST_STEPS && sum([...mass.values()]) > GONE; rally++) {
        const after = new Map<string, number>();
        for (const [key, chance] of mass) {
          const [a = 0, b = 0, server = 0] = key.split(",").map(Number);
          const [top = 0, bottom = 1] = one.chances[server] ?? [];
          for (const winner of [0, 1]) {
            const part = chance * (winner === 0 ? top / bottom : 1 - top / bottom);
            const score = [a + (1 - winner), b + winner] as const;
            const isOver = Math.max(...score) >= one.target && Math.abs(score[0] - score[1]) >= one.lead;
            const next = `${score.join()},${one.rule === "winner" ? winner : 1 - server}`;
            if (!isOver) after.set(next, (after.get(next) ?? 0) + part);
            else if (winner === 0) won += part;
          }
        }
        mass = after;
      }
      return won;
    },
  ],
});
