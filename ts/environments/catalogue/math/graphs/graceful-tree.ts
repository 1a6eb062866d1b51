/** graceful-tree: numbers for the vertices of a tree so that all differences along edges differ. */
import { shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";
import { type Edge, edgesText, sorted } from "./edges.ts";

interface Problem {
  edges: Edge[];
}

/** By level: vertices. */
const SIZES = [6, 8, 10, 13, 17] as const;

export const gracefulTree = certificateRow<Problem>({
  id: "graceful-tree",
  asks: "numbers for the vertices of a tree so that the differences along its edges are all different",
  draw(rng, level) {
    const size = at(SIZES, level - 1);
    const part = range(size);
    const labelled: Edge[] = [];
    // The largest difference first; each edge joins two parts.
    for (const difference of range(size).slice(1).toReversed()) {
      const starts = range(size - difference).filter((label) => at(part, label) !== at(part, label + difference));
      if (starts.length === 0) return null;
      const label = rng.pick(starts);
      const [kept, gone] = [at(part, label), at(part, label + difference)];
      for (const index of range(size)) if (at(part, index) === gone) part[index] = kept;
      labelled.push([label, label + difference]);
    }
    const place = shuffled(range(size), rng);
    const edges = sorted(labelled.map(([a, b]): Edge => [at(place, a) + 1, at(place, b) + 1]));
    const labels = range(size).map((vertex) => place.indexOf(vertex));
    const degrees = labels.map((_, vertex) => edges.filter((edge) => edge.includes(vertex + 1)).length);
    if (Math.max(...degrees) > size / 2) return null;
    return { problem: { edges }, certificate: labels.join(", "), steps: size ** 3 };
  },
  proves({ edges }, answer) {
    const labels = integersIn(answer);
    const size = edges.length + 1;
    if (labels?.length !== size || new Set(labels).size < size) return false;
    if (labels.some((label) => label < 0 || label >= size)) return false;
    return new Set(edges.map(([a, b]) => Math.abs(at(labels, a - 1) - at(labels, b - 1)))).size === edges.length;
  },
  prompts: [
    (one) =>
      `The tree with the edges ${edgesText(one.edges)} has ${one.edges.length + 1} vertices. Label them with the numbers 0 to ${one.edges.length}, each used once, such that the absolute differences at the ends of the edges are all different. ${FORMAT}`,
    (one) =>
      `Find a graceful labelling (labels 0, ..., ${one.edges.length}, edge differences 1, ..., ${one.edges.length} each once) of the tree ${edgesText(one.edges)}. ${FORMAT}`,
    (one) =>
      `${FORMAT} These are a rearrangement of 0..${one.edges.length}, and no two of the pairs ${edgesText(one.edges)} may get the same distance between their numbers.`,
    (one) =>
      `Lamps are wired as a tree: ${edgesText(one.edges)}. Each lamp gets its own voltage from 0 to ${one.edges.length} (whole numbers), and along the ${one.edges.length} wires all voltage drops must be distinct. Which voltages work? ${FORMAT}`,
  ],
  slips({ edges }, certificate) {
    const labels = certificate.split(", ");
    return [
      range(edges.length + 1).join(", "),
      labels.map((label) => Number(label) + 1).join(", "),
      labels.with(0, at(labels, 1)).with(1, at(labels, 0)).join(", "),
      labels.slice(1).join(", "),
      labels.with(0, at(labels, 1)).join(", "),
    ];
  },
  variants: ({ edges }, certificate) => [
    certificate
      .split(", ")
      .map((label) => edges.length - Number(label))
      .join(" "),
  ],
});

const FORMAT = "Answer with the labels of vertex 1, vertex 2, ..., separated by commas.";
