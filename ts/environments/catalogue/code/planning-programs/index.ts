/** Programs that find the best choice, way or move under described rules. */
import type { Family, ProgramRow } from "../../row.ts";
import { bagChoice } from "./bag-choice.ts";
import { gridHarvest } from "./grid-harvest.ts";
import { pileGame } from "./pile-game.ts";
import { shiftChoice } from "./shift-choice.ts";

export const planningPrograms: Family<ProgramRow> = {
  id: "planning-programs",
  rows: [shiftChoice, gridHarvest, pileGame, bagChoice],
};
