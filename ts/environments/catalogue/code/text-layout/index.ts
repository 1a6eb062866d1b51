/** Programs that lay out text and pictures of characters. */
import type { Family, ProgramRow } from "../../row.ts";
import { canvasCommands } from "./canvas-commands.ts";
import { fieldTemplate } from "./field-template.ts";
import { justifiedParagraph } from "./justified-paragraph.ts";
import { outlineNumbers } from "./outline-numbers.ts";
import { textTable } from "./text-table.ts";

export const textLayout: Family<ProgramRow> = {
  id: "text-layout",
  rows: [justifiedParagraph, textTable, outlineNumbers, canvasCommands, fieldTemplate],
};
