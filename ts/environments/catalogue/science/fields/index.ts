/** Fields, waves and quanta: circuits, optical trains, decay chains and beams of ions. */
import type { Family } from "../../row.ts";
import { chargeInFields } from "./charge-in-fields.ts";
import { decayChainActivity } from "./decay-chain-activity.ts";
import { lensMirrorTrain } from "./lens-mirror-train.ts";
import { levelSchemeLines } from "./level-scheme-lines.ts";
import { phasorCircuit } from "./phasor-circuit.ts";
import { resistorMesh } from "./resistor-mesh.ts";
import { shiftedToneInference } from "./shifted-tone-inference.ts";
import { switchedTransient } from "./switched-transient.ts";

export const fields: Family = {
  id: "fields",
  rows: [
    resistorMesh,
    switchedTransient,
    phasorCircuit,
    lensMirrorTrain,
    decayChainActivity,
    chargeInFields,
    levelSchemeLines,
    shiftedToneInference,
  ],
};
