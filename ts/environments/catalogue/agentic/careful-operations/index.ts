/** Operations whose effect is uncertain: it is found out by trying, or has to be made certain before the next step. */
import type { Family, WorldRow } from "../../row.ts";
import { exactlyOncePayments } from "./exactly-once-payments.ts";
import { unlitHouse } from "./unlit-house.ts";
import { unlabelledControls } from "./unlabelled-controls.ts";

export const carefulOperations: Family<WorldRow> = {
  id: "careful-operations",
  rows: [unlabelledControls, exactlyOncePayments, unlitHouse],
};
