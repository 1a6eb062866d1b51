/** collision-chain: balls on a line that collide until none can meet another one any more. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Ball {
  /** In kg, m and m/s. */
  mass: number;
  place: number;
  speed: number;
}

interface Given {
  balls: Ball[];
  /** Coefficient of restitution. */
  bounce: number;
}

/** By level: balls, fewest and most collisions. */
const KNOBS = [
  [2, 1, 1],
  [3, 2, 2],
  [3, 3, 3],
  [4, 4, 5],
  [5, 6, 12],
] as const;
const MOST_COLLISIONS = 12;
const LETTERS = "ABCDE";

export const collisionChain = quantityRow<Given>({
  id: "collision-chain",
  asks: "final velocities and the energy lost when balls on a line collide one after the other",
  draw,
  solve,
  isShared: true,
  asides: [
    "The balls are 4 cm wide on a picture, but count as points.",
    "The track is 18 cm wide.",
    "Ball A was made in 2009.",
    "The room is at 21 °C.",
  ],
  wordings: [
    (one, aside) =>
      `Point-like balls move on a straight frictionless track. At the time 0:\n${ballList(one)}\n${aside} Each collision of two of them has the coefficient of restitution ${one.bounce}. When no further collision can happen, what are the velocities ${names(one)} of ${letters(one)} (positive towards growing x), and how much kinetic energy E has been lost in all?`,
    (one, aside) =>
      `Restitution: ${one.bounce} in every impact. ${aside} Find ${names(one)}, the final velocities with sign, and E, the kinetic energy that the collisions took away, for these gliders on an air track (x grows to the right, size negligible):\n${ballList(one)}\nThe track is endless, so wait until the gliders separate for good.`,
    (one, aside) =>
      `A line of bodies, with masses, positions and velocities at the start:\n${ballList(one)}\n\nThey meet in the order that the motion gives, some perhaps more than once. The relative speed after an impact is ${one.bounce} times that before. ${aside} Asked are the velocities after the last impact, ${names(one)} (to the left is negative), and the loss E of kinetic energy from beginning to end.`,
    (one, aside) =>
      `What is left in the end? ${aside} On a smooth straight rail there are the beads\n${ballList(one)}\nBetween impacts they run freely; an impact of two beads keeps momentum, and they part with ${one.bounce} of the speed of approach. Work through all impacts. Give each bead's final velocity, ${names(one)}, with its sign along x, and the total loss of kinetic energy, E.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, fewest, most] = at(KNOBS, level - 1);
  let place = 0;
  const balls = range(count).map((): Ball => {
    place += decimal(rng, 0.5, 4, 1);
    return { mass: decimal(rng, 0.2, 5, 1), place: Number(place.toFixed(1)), speed: decimal(rng, -4, 6, 1) };
  });
  const given = { balls, bounce: decimal(rng, 0.3, 0.9, 2) };
  const run = collide(given, given.bounce, MOST_COLLISIONS + 1);
  if (run === null || run.collisions < fewest || run.collisions > most) return null;
  return between(rng, 0, 9) === 0 || balls.every(({ speed }) => speed !== 0) ? given : null;
}

function solve(given: Given): Solution | null {
  const run = collide(given, given.bounce, MOST_COLLISIONS + 1);
  if (run === null || run.speeds.some((speed) => Math.abs(speed) < 0.05)) return null;
  const { balls } = given;
  const energy = (speeds: readonly number[]): number =>
    balls.reduce((sum, { mass }, index) => sum + 0.5 * mass * at(speeds, index) ** 2, 0);
  const start = energy(balls.map(({ speed }) => speed));
  const slip = (speeds: readonly number[]): number[] => [...speeds, start - energy(speeds)];
  const elastic = collide(given, 1, 4 * MOST_COLLISIONS)?.speeds;
  const first = collide(given, given.bounce, 1)?.speeds;
  return {
    parts: [
      ...run.speeds.map((value, index) => ({ name: `v${LETTERS[index]}`, value, unit: "m/s", absolute: 0.005 })),
      { name: "E", value: start - energy(run.speeds), unit: "J" },
    ],
    slips: [
      ...(elastic === undefined ? [] : [slip(elastic)]),
      ...(first === undefined || run.collisions === 1 ? [] : [slip(first)]),
    ],
    steps: balls.length + 3 * run.collisions,
  };
}

/** Runs from collision to collision, at most `most`; null when two happen at nearly the same time or there are too many. */
function collide({ balls }: Given, bounce: number, most: number): { speeds: number[]; collisions: number } | null {
  const places = balls.map(({ place }) => place);
  const speeds = balls.map(({ speed }) => speed);
  for (let collisions = 0; ; collisions++) {
    const meetings = range(balls.length - 1)
      .filter((index) => at(speeds, index) - at(speeds, index + 1) > 1e-9)
      .map((index) => ({
        index,
        time: (at(places, index + 1) - at(places, index)) / (at(speeds, index) - at(speeds, index + 1)),
      }))
      .toSorted((a, b) => a.time - b.time);
    const [next, other] = meetings;
    if (next === undefined || (most === 1 && collisions === 1)) return { speeds, collisions };
    if (collisions + 1 >= most && most > 1) return null;
    if (other !== undefined && other.time - next.time < 0.01 * Math.max(0.1, next.time)) return null;
    for (const [index, speed] of speeds.entries()) places[index] = at(places, index) + speed * next.time;
    const [a, b] = [at(balls, next.index).mass, at(balls, next.index + 1).mass];
    const [u, w] = [at(speeds, next.index), at(speeds, next.index + 1)];
    speeds[next.index] = (a * u + b * w - b * bounce * (u - w)) / (a + b);
    speeds[next.index + 1] = (a * u + b * w + a * bounce * (u - w)) / (a + b);
    places[next.index + 1] = at(places, next.index);
  }
}

function ballList({ balls }: Given): string {
  return balls
    .map(({ mass, place, speed }, index) => `- ${LETTERS[index]}: ${mass} kg, x = ${place} m, ${speed} m/s`)
    .join("\n");
}

function letters({ balls }: Given): string {
  return LETTERS.slice(0, balls.length).split("").join(", ");
}

function names({ balls }: Given): string {
  return balls.map((_, index) => `v${LETTERS[index]}`).join(", ");
}
