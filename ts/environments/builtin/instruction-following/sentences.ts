/** Topics to write about and the plain sentences that gold replies are made of. */
import type { Rng } from "../../../random/rng.ts";

export const TOPICS: readonly string[] = [
  "a lighthouse",
  "a railway station at night",
  "the smell of rain",
  "an old bridge",
  "a kitchen garden",
  "the first day of school",
  "a clock that runs backwards",
  "a walk in the fog",
  "a market in the morning",
  "the moon over a lake",
  "a lost umbrella",
  "a letter that came too late",
  "a library without books",
  "the sound of a river",
  "a baker and his oven",
  "a ship in a bottle",
  "a snowy mountain pass",
  "the last bus home",
  "a window to the north",
  "a cat on a roof",
];

/** Words that no plain sentence has. */
export const KEYWORDS: readonly string[] = [
  "anchor",
  "basket",
  "candle",
  "desert",
  "engine",
  "feather",
  "garden",
  "hammer",
  "island",
  "jacket",
  "kettle",
  "ladder",
  "mirror",
  "needle",
  "orchard",
  "pepper",
  "rocket",
  "saddle",
  "timber",
  "violin",
];

const PLAIN = [
  "It was there before us and it will be there for a long time.",
  "We saw it in the light of the morning.",
  "The people of the town like to talk of it.",
  "It is one of those places that you do not forget.",
  "The wind was cold and the street was still.",
  "There is a story for each stone in the wall.",
];

export function sentenceAbout(topic: string, rng: Rng): string {
  return rng.integer(4) === 0 ? `This is the story of ${topic}.` : rng.pick(PLAIN);
}

export function sentenceWith(word: string, rng: Rng): string {
  return rng.pick([`There was the ${word} in the corner of the room.`, `We took the ${word} and went on with it.`]);
}

export function sentenceOf(person: string, rng: Rng): string {
  return rng.pick([`We met ${person} at the gate.`, `In the evening ${person} came back.`]);
}
