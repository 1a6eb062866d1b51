/** common-conjugation: one renaming of points that turns two permutations into two others. */
import { shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { compose, cyclesText, imagesText, inverseOf, permutationFrom } from "./permutations.ts";

interface Problem {
  before: number[][];
  after: number[][];
}

/** By level: points. */
const SIZES = [5, 7, 10, 14, 19] as const;

export const commonConjugation = certificateRow<Problem>({
  id: "common-conjugation",
  asks: "one renaming of points that turns two permutations into two others",
  draw(rng, level) {
    const size = at(SIZES, level - 1);
    const before = [0, 1].map(() => shuffled(range(size), rng));
    const names = shuffled(range(size), rng);
    const after = before.map((one) => compose(compose(names, one), inverseOf(names)));
    const orbit = [0];
    for (const point of orbit)
      for (const one of before) if (!orbit.includes(at(one, point))) orbit.push(at(one, point));
    if (orbit.length < size || before.some((one) => cyclesText(one) === "()")) return null;
    return { problem: { before, after }, certificate: imagesText(names), steps: size ** 2 };
  },
  proves({ before, after }, answer) {
    const names = permutationFrom(integersIn(answer), at(before, 0).length);
    if (names === null) return false;
    // name(a(i)) = a'(name(i)).
    return before.every((one, index) =>
      one.every((image, point) => at(names, image) === at(at(after, index), at(names, point))),
    );
  },
  prompts: [
    (one) =>
      `Find a permutation p with p·a·p^(-1) = c and p·b·p^(-1) = d (the right factor acts first), where\n${listText(one)}\n${FORMAT}`,
    (one) =>
      `Two pairs of permutations on ${at(one.before, 0).length} points differ only by the names of the points:\n${listText(one)}\nRename the points so that a becomes c and at the same time b becomes d: p(a(i)) = c(p(i)) and p(b(i)) = d(p(i)) for all i. ${FORMAT}`,
    (one) =>
      `${FORMAT} It must conjugate a into c and b into d, that is, p(a(i)) = c(p(i)), p(b(i)) = d(p(i)).\n${listText(one)}`,
    (one) =>
      `A machine has two buttons, which move its states by a and b. A copy with other labels moves them by c and d.\n${listText(one)}\nWhich label p(i) of the copy belongs to state i of the original, so that pressing a (or b) and then translating is the same as translating and then pressing c (or d)? ${FORMAT}`,
  ],
  slips({ before, after }, certificate) {
    const images = certificate.split(", ");
    const inverse = inverseOf(images.map((image) => Number(image) - 1));
    return [
      imagesText(inverse),
      imagesText(at(after, 0)),
      imagesText(range(at(before, 0).length)),
      images.with(0, at(images, 1)).with(1, at(images, 0)).join(", "),
      images.slice(1).join(", "),
    ];
  },
  variants: (_, certificate) => [`(${certificate})`],
});

const FORMAT = "Answer with p(1), p(2), p(3), ..., separated by commas.";

function listText({ before, after }: Problem): string {
  return [...before, ...after]
    .map((one, index) => `${at(["a", "b", "c", "d"], index)} = ${cyclesText(one)}`)
    .join("\n");
}
