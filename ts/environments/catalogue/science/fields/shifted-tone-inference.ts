/** shifted-tone-inference: speed and true tone of a moving whistle from what is heard, with wind, a moving listener and echoes. */
import type { Rng } from "../../../../random/rng.ts";
import { roundToFigures } from "../../../../verify/index.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Part, type Solution } from "../quantity-row.ts";

interface Given {
  /** Speed of sound in still air, of the listener towards the oncoming train, and of the wind from the train before it passes; m/s. */
  sound: number;
  listener: number;
  wind: number;
  /** Heard before and after the meeting, in Hz. */
  before: number;
  after: number;
  /** Asked too: beats of the echo from a wall ahead of the train, heard by someone at rest behind it; the echo in the cab. */
  hasBeats: boolean;
  hasCab: boolean;
}

/** By level: the listener moves, there is wind, beats, cab. */
const KNOBS = [
  [false, false, false, false],
  [true, false, false, false],
  [true, true, false, false],
  [true, true, true, false],
  [true, true, true, true],
] as const;
const HALVINGS = 70;

export const shiftedToneInference = quantityRow<Given>({
  id: "shifted-tone-inference",
  asks: "speed and tone of a whistle from the shifts that are heard, with wind, a moving listener and echoes",
  draw,
  solve,
  asides: [
    "The train has 9 cars.",
    "The whistle has 120 dB at a distance of 1 m.",
    "The rails are 1435 mm apart.",
    "It passed at 17 o'clock.",
  ],
  wordings: [
    (one, aside) =>
      `A train whistles with a steady tone while it drives along a straight track. ${listener(one)} hears ${one.before} Hz before the train has passed and ${one.after} Hz afterwards. ${air(one)} ${aside} Find v, the speed of the train over ground, and f, the tone that the whistle has at rest${more(one)}.`,
    (one, aside) =>
      `Find f and v. ${air(one)} A whistle of frequency f is carried along a straight line with the speed v (over ground). ${aside} ${listener(one)} notices ${one.before} Hz as long as it comes nearer and ${one.after} Hz when it goes away${more(one)}.`,
    (one, aside) =>
      `${air(one)} ${listener(one)} records the whistle of a passing train: first ${one.before} Hz, then ${one.after} Hz. ${aside} What is the train's speed v over ground, what its true tone f${more(one)}?`,
    (one, aside) =>
      `Doppler effect along one line. Tone before the meeting ${one.before} Hz, after it ${one.after} Hz, heard as follows: ${listener(one)} hears the train. ${aside} ${air(one)} Wanted are the speed v of the source relative to the ground and its own frequency f${more(one)}.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [moves, blows, hasBeats, hasCab] = at(KNOBS, level - 1);
  const [sound, speed, tone] = [decimal(rng, 325, 350), decimal(rng, 12, 65, 1), decimal(rng, 280, 1200)];
  const given = {
    sound,
    listener: moves ? decimal(rng, 6, 25, 1) : 0,
    wind: blows ? (rng.integer(2) === 0 ? -1 : 1) * decimal(rng, 8, 22, 1) : 0,
    hasBeats,
    hasCab,
    before: 0,
    after: 0,
  };
  const [before, after] = heard(given, speed, tone);
  return { ...given, before: Number(roundToFigures(before, 7)), after: Number(roundToFigures(after, 7)) };
}

/** Before and after the meeting. Sound moves with the wind, so its speed over ground is other on the two sides. */
function heard(
  { sound, listener: own, wind }: Pick<Given, "sound" | "listener" | "wind">,
  speed: number,
  tone: number,
): [number, number] {
  const [ahead, back] = [sound + wind, sound - wind];
  return [(tone * (ahead + own)) / (ahead - speed), (tone * (back - own)) / (back + speed)];
}

function solve(given: Given): Solution | null {
  const { sound, before, after, wind, listener: own, hasBeats, hasCab } = given;
  const right = inferred(given);
  if (right === null) return null;
  const { v, f } = right;
  const parts: Part[] = [
    { name: "v", value: v, unit: "m/s" },
    { name: "f", value: f, unit: "Hz", relative: 0.005 },
  ];
  const still = inferred({ ...given, listener: 0, wind: 0 });
  const turned = inferred({ ...given, wind: -wind, listener: own });
  const mean = (before + after) / 2;
  const slips = [
    [(sound * (before - after)) / mean, mean],
    [(sound * (before - after)) / after, after],
    ...(own === 0 || still === null ? [] : [[still.v, still.f]]),
    ...(wind === 0 || turned === null ? [] : [[turned.v, turned.f]]),
    [v * 1.1, mean * 1.02],
  ];
  if (hasBeats) {
    // The wall is at rest and gives back the tone that arrives there; behind the train the direct tone is lower.
    const wall = (f * (sound + wind)) / (sound + wind - v);
    const direct = (f * (sound - wind)) / (sound - wind + v);
    add("b", wall - direct, wall - f);
    if (hasCab) add("cab", (wall * (sound - wind + v)) / (sound - wind), wall);
  }
  return {
    parts,
    slips,
    steps: 3 + Number(own !== 0) + Number(wind !== 0) + 3 * Number(hasBeats) + 2 * Number(hasCab),
  };

  function add(name: string, value: number, wrong: number): void {
    for (const slip of slips) slip.push(value);
    slips.push([...parts.map((part) => part.value), wrong]);
    parts.push({ name, value, unit: "Hz", ...(name === "cab" ? { relative: 0.005 } : { relative: 0.02 }) });
  }
}

/** The ratio of the two tones grows with the speed of the source; bisection finds it. */
function inferred(given: Given): { v: number; f: number } | null {
  const ratio = given.before / given.after;
  const ratioAt = (speed: number): number => {
    const [before, after] = heard(given, speed, 1);
    return before / after;
  };
  let [low, high] = [0, 0.9 * (given.sound - Math.abs(given.wind))];
  if (ratioAt(low) > ratio || ratioAt(high) < ratio) return null;
  for (let turn = 0; turn < HALVINGS; turn++) {
    const middle = (low + high) / 2;
    if (ratioAt(middle) < ratio) low = middle;
    else high = middle;
  }
  return { v: low, f: given.before / heard(given, low, 1)[0] };
}

function listener({ listener: own }: Given): string {
  return own === 0
    ? "A listener at rest beside the track"
    : `A listener who rides at ${own} m/s (over ground) along the track in the direction opposite to that of the train`;
}

function air({ sound, wind }: Given): string {
  const still = `Sound travels at ${sound} m/s through the air`;
  if (wind === 0) return `${still}, which is calm.`;
  return `${still}; a wind blows along the track at ${Math.abs(wind)} m/s ${wind > 0 ? "in the direction in which the train drives" : "against the direction in which the train drives"}.`;
}

function more({ hasBeats, hasCab }: Given): string {
  const beats = hasBeats
    ? ", moreover b, the difference between the tone of the echo from a wall far ahead of the train and the direct tone, both heard by a person who stands behind the train"
    : "";
  return `${beats}${hasCab ? ", and cab, the tone of that echo in the cab of the train" : ""}`;
}
