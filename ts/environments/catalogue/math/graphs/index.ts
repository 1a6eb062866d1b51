/** Graphs whose answer is a structure: flows, colourings, cycles, labellings and small sets. */
import type { Family } from "../../row.ts";
import { colouringWithClique } from "./colouring-with-clique.ts";
import { dominatingSet } from "./dominating-set.ts";
import { eulerTrail } from "./euler-trail.ts";
import { flowAndCut } from "./flow-and-cut.ts";
import { gracefulTree } from "./graceful-tree.ts";
import { hamiltonianCycle } from "./hamiltonian-cycle.ts";
import { lessonHours } from "./lesson-hours.ts";
import { potentialsOrNegativeCycle } from "./potentials-or-negative-cycle.ts";
import { stableAssignment } from "./stable-assignment.ts";

export const graphs: Family = {
  id: "graphs",
  rows: [
    colouringWithClique,
    dominatingSet,
    eulerTrail,
    flowAndCut,
    gracefulTree,
    hamiltonianCycle,
    lessonHours,
    potentialsOrNegativeCycle,
    stableAssignment,
  ],
};
