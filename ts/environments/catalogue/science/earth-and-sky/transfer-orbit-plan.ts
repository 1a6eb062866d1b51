/** transfer-orbit-plan: burns and times between circular orbits, directly or over a far point, with a change of plane. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Part, type Solution } from "../quantity-row.ts";

interface Given {
  /** Gravitational parameter in km3/s2. */
  mu: number;
  /** Radii in km: first orbit, last orbit, and the far point in between; null: a direct transfer. */
  inner: number;
  outer: number;
  far: number | null;
  /** Angle between the planes in degrees, changed by the burn at the far end; 0: none. */
  tilt: number;
  /** Whether the lead of the target and the wait are asked. */
  hasTarget: boolean;
}

/** By level: far point, tilt, target. */
const KNOBS = [
  [false, false, false],
  [false, true, false],
  [false, true, true],
  [true, false, true],
  [true, true, true],
] as const;

export const transferOrbitPlan = quantityRow<Given>({
  id: "transfer-orbit-plan",
  asks: "speed changes, flight time and lead angle of transfers between orbits, also over a far point and to another plane",
  draw,
  solve,
  asides: [
    "The craft has a mass of 840 kg.",
    "Its engine was built in 2019.",
    "The planet turns once in 15 h.",
    "A solar panel yields 400 W.",
  ],
  wordings: [
    (one, aside) =>
      `A craft circles a planet (gravitational parameter mu = ${one.mu} km^3/s^2) at the distance ${one.inner} km from the centre and has to get to a circular orbit at ${one.outer} km. ${aside} ${plan(one)} Find ${wanted(one)}.`,
    (one, aside) =>
      `Plan burns: from a circle of radius ${one.inner} km to one of radius ${one.outer} km about a body with mu = ${one.mu} km^3/s^2. ${plan(one)} ${aside} Compute ${wanted(one)}.`,
    (one, aside) =>
      `Wanted: ${wanted(one)}. ${plan(one)} Radii are measured from the centre: ${one.inner} km at the start, ${one.outer} km at the end; mu = ${one.mu} km^3/s^2. ${aside} All burns are instantaneous.`,
    (one, aside) =>
      `Two circular orbits, ${one.inner} km and ${one.outer} km from the centre of a planet whose mu is ${one.mu} km^3/s^2. ${aside} ${plan(one)} What follows for ${wanted(one)}?`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [isFar, isTilted, hasTarget] = at(KNOBS, level - 1);
  const inner = between(rng, 60, 120) * 100;
  const outer = Math.round((inner * decimal(rng, 1.8, 7, 2)) / 100) * 100;
  return {
    mu: between(rng, 8, 90) * 10_000,
    inner,
    outer,
    far: isFar ? Math.round((outer * decimal(rng, 1.6, 4, 2)) / 100) * 100 : null,
    tilt: isTilted ? between(rng, 8, 55) : 0,
    hasTarget,
  };
}

function solve(given: Given): Solution | null {
  const { mu, inner, outer, far, tilt, hasTarget } = given;
  const right = flown(given);
  if (right.lead < 8 || right.lead > 352) return null;
  const burn = (name: string, value: number): Part => ({ name, value, unit: "km/s" });
  const parts = [
    burn("d1", right.burns[0] ?? 0),
    burn("d2", right.burns[1] ?? 0),
    ...(far === null ? [] : [burn("d3", right.burns[2] ?? 0)]),
    { name: "T", value: right.hours, unit: "h" },
    ...(hasTarget ? [{ name: "lead", value: right.lead, unit: "deg" }] : []),
  ];
  const values = (one: Flight): number[] => [...one.burns, one.hours, ...(hasTarget ? [one.lead] : [])];
  const circles = Math.sqrt(mu / inner) - Math.sqrt(mu / outer);
  return {
    parts,
    slips: [
      [circles, ...values(right).slice(1)],
      values({ ...right, hours: 2 * right.hours }),
      ...(tilt === 0 ? [] : [values(flown({ ...given, tilt: 0 })), values(flown({ ...given, tilt: tilt / 2 }))]),
      ...(hasTarget ? [values({ ...right, lead: 360 - right.lead })] : []),
    ],
    steps: 3 + (far === null ? 0 : 4) + (tilt > 0 ? 1 : 0) + (hasTarget ? 2 : 0),
  };
}

interface Flight {
  burns: number[];
  hours: number;
  lead: number;
}

function flown({ mu, inner, outer, far, tilt }: Given): Flight {
  const circle = (r: number): number => Math.sqrt(mu / r);
  /** Speed at r on the ellipse that reaches from r to the other end. */
  const ellipse = (r: number, end: number): number => Math.sqrt(mu * (2 / r - 2 / (r + end)));
  const half = (a: number, b: number): number => Math.PI * Math.sqrt(((a + b) / 2) ** 3 / mu);
  const angle = (tilt * Math.PI) / 180;
  const turned = (a: number, b: number): number => Math.sqrt(a * a + b * b - 2 * a * b * Math.cos(angle));
  const top = far ?? outer;
  const seconds = half(inner, top) + (far === null ? 0 : half(far, outer));
  const burns =
    far === null
      ? [ellipse(inner, outer) - circle(inner), turned(ellipse(outer, inner), circle(outer))]
      : [
          ellipse(inner, far) - circle(inner),
          turned(ellipse(far, inner), ellipse(far, outer)),
          ellipse(outer, far) - circle(outer),
        ];
  // The craft flies through half a turn on each ellipse; the target has to arrive at the same place.
  const swept = (360 * seconds) / (2 * Math.PI * Math.sqrt(outer ** 3 / mu));
  const lead = (((far === null ? 180 : 360) - swept) % 360) + 360;
  return { burns, hours: seconds / 3600, lead: lead % 360 };
}

function plan({ far, tilt }: Given): string {
  const plane = `turns the plane of the orbit by ${tilt} degrees in the same burn (the two orbits meet on the line on which the transfer ends)`;
  if (far === null)
    return `The transfer is half an ellipse that touches both circles.${tilt > 0 ? ` The second burn also ${plane}.` : ""}`;
  return `The first burn leads onto an ellipse whose far end is at ${far} km; there the second burn leads onto another ellipse, whose near end touches the last circle${tilt > 0 ? `, and also ${plane.replace("in the same burn (the two orbits meet on the line on which the transfer ends)", "(the far point lies in both planes)")}` : ""}; the third burn makes it a circle.`;
}

function wanted({ far, hasTarget }: Given): string {
  const burns =
    far === null
      ? "the sizes d1 and d2 of the two changes of velocity"
      : "the sizes d1, d2, d3 of the changes of velocity";
  const lead = hasTarget
    ? ", and lead, the angle from 0 to 360 degrees by which a target that already moves on the last orbit, in the sense of the flight, has to be ahead of the craft at the first burn, so that both meet at the end (counted along the direction of motion; neglect the tilt here if there is one)"
    : "";
  return `${burns}, the time of flight T${lead}`;
}
