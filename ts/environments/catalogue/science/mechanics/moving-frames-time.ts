/** moving-frames-time: times, places, speeds and energies in frames that move at rational fractions of the speed of light. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Given {
  /** Speed of each frame in the one before it, as parts of c: numerator and denominator. */
  speeds: [number, number][];
  /** Between two events in the last frame: in microseconds, and light-microseconds along x. */
  time: number;
  way: number;
  /** Rest energy in MeV, and speed in the last frame as a part of c; null where no particle is asked for. */
  particle: { energy: number; speed: number } | null;
}

/** By level: frames, whether the events are at different places, particle. */
const KNOBS = [
  [1, false, false],
  [1, true, false],
  [2, true, false],
  [2, true, true],
  [3, true, true],
] as const;
const FRAMES = ["S", "S1", "S2", "S3"];
/** Each gives a rational Lorentz factor. */
const SPEEDS: readonly (readonly [number, number])[] = [
  [3, 5],
  [4, 5],
  [5, 13],
  [12, 13],
  [8, 17],
  [15, 17],
  [7, 25],
  [20, 29],
  [21, 29],
  [12, 37],
  [9, 41],
  [28, 53],
];

export const movingFramesTime = quantityRow<Given>({
  id: "moving-frames-time",
  asks: "times, distances, speeds and energies seen from frames at high relative speed",
  draw,
  solve,
  isShared: true,
  asides: [
    "Every ship has a mass of 3100 t.",
    "A crew of 12 is aboard.",
    "One of the ships left its port 8 years ago.",
    "The clocks were made in 2150.",
  ],
  wordings: [
    (one, aside) =>
      `${frameText(one)} All motions are along the common x axis. ${aside} In ${last(one)} the second of two events happens ${one.time} µs after the first, at a place whose x is larger by ${one.way} light-microseconds (lus; 1 lus = 299.792458 m).${particleText(one)}\n\nFind, as seen in S, ${wanted(one)}.`,
    (one, aside) =>
      `Two flashes: seen in ${last(one)}, they are ${one.time} µs and ${one.way} light-microseconds apart (second minus first, along x; a light-microsecond is 299.792458 m). ${frameText(one)}${particleText(one)} ${aside}\n\nWhat does S find for ${wanted(one)}? Every frame moves along x.`,
    (one, aside) =>
      `Work out, in the frame S, ${wanted(one)}. ${aside} ${frameText(one)} The x axes are parallel to the motion. Events 1 and 2 are recorded in ${last(one)} with t2 - t1 = ${one.time} µs and x2 - x1 = ${one.way} light-microseconds, each of which is 299.792458 m.${particleText(one)}`,
    (one, aside) =>
      `Special relativity on one line x. ${frameText(one)}${particleText(one)} A log kept in ${last(one)} says of two events that the later one came ${one.time} µs after the other and ${one.way} light-microseconds further along x (1 light-microsecond: 299.792458 m). ${aside} The observer in S wants ${wanted(one)}.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, isApart, hasParticle] = at(KNOBS, level - 1);
  const speeds = range(count).map((): [number, number] => {
    const [n, d] = rng.pick(SPEEDS);
    return [rng.integer(3) === 0 ? -n : n, d];
  });
  const time = decimal(rng, 2, 90, 1);
  const way = isApart ? Number((time * between(rng, -18, 18) * 0.1).toFixed(1)) : 0;
  if (isApart && (Math.abs(way) < 0.2 * time || Math.abs(Math.abs(way) / time - 1) < 0.05)) return null;
  const particle = { energy: decimal(rng, 5, 950, 1), speed: decimal(rng, -0.9, 0.9, 2) };
  if (Math.abs(particle.speed) < 0.1) return null;
  return { speeds, time, way, particle: hasParticle ? particle : null };
}

function solve(given: Given): Solution | null {
  const { speeds, time, way, particle } = given;
  let [t, x] = [time, way];
  // From the last frame back to S, and the velocity of the last frame itself.
  let velocity = 0;
  for (const [n, d] of speeds.toReversed()) {
    const beta = n / d;
    const gamma = d / Math.sqrt(d ** 2 - n ** 2);
    [t, x] = [gamma * (t + beta * x), gamma * (x + beta * t)];
    velocity = (velocity + beta) / (1 + velocity * beta);
  }
  const sum = speeds.reduce((all, [n, d]) => all + n / d, 0);
  const gamma = 1 / Math.sqrt(1 - velocity ** 2);
  const light = 299.792458;
  if (Math.abs(t) < 0.1 || Math.abs(x) < 0.1 || Math.abs(velocity) < 0.05) return null;
  const parts = [
    { name: "t", value: t, unit: "µs" },
    { name: "x", value: x * light, unit: "m" },
  ];
  // Galileo; the transformation with the wrong sign; contraction instead of dilation.
  const answers = [
    [time, (way + sum * time) * light],
    [gamma * (time - velocity * way), gamma * (way - velocity * time) * light],
    [time / gamma, (way / gamma) * light],
  ];
  if (speeds.length > 1) {
    parts.push({ name: "v", value: velocity, unit: "" });
    for (const answer of answers) answer.push(sum);
  }
  if (particle !== null) {
    const total = (particle.speed + velocity) / (1 + particle.speed * velocity);
    parts.push({ name: "E", value: particle.energy / Math.sqrt(1 - total ** 2), unit: "MeV" });
    for (const answer of answers) answer.push(particle.energy * (1 + 0.5 * (particle.speed + sum) ** 2));
  }
  return { parts, slips: answers, steps: 2 * speeds.length + (way === 0 ? 0 : 1) + (particle === null ? 0 : 1) };
}

function last({ speeds }: Given): string {
  return at(FRAMES, speeds.length);
}

function frameText({ speeds }: Given): string {
  const list = speeds.map(
    ([n, d], index) =>
      `${FRAMES[index + 1]} moves with ${n < 0 ? "-" : ""}${Math.abs(n)}/${d} of the speed of light relative to ${FRAMES[index]}`,
  );
  return `Frame ${list.join(", ")}; minus means towards smaller x.`;
}

function particleText(one: Given): string {
  if (one.particle === null) return "";
  const { energy, speed } = one.particle;
  return ` In ${last(one)} a particle with a rest energy of ${energy} MeV flies along x with ${speed} c.`;
}

function wanted(one: Given): string {
  return [
    "the time t between the events (second minus first) and their distance x along the axis in metres (second minus first, both with their signs)",
    ...(one.speeds.length > 1
      ? [`the velocity v of ${last(one)} as a fraction of the speed of light, with its sign`]
      : []),
    ...(one.particle === null ? [] : ["the total energy E of the particle"]),
  ].join(", ");
}
