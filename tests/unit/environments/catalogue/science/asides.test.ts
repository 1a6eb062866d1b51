/** Data that no law needs must not contradict the problem, whatever was drawn. */
import { expect, test } from "vitest";

import { phasorCircuit } from "../../../../../ts/environments/catalogue/science/fields/phasor-circuit.ts";
import { resistorMesh } from "../../../../../ts/environments/catalogue/science/fields/resistor-mesh.ts";
import { switchedTransient } from "../../../../../ts/environments/catalogue/science/fields/switched-transient.ts";
import { collisionChain } from "../../../../../ts/environments/catalogue/science/mechanics/collision-chain.ts";
import { instancesOf } from "./second-method.ts";

test("collision-chain: a track without ends has no length", () => {
  const asides = new Set([...instancesOf(collisionChain, [2, 3])].map(({ instance }) => instance.aside));
  expect(asides.size).toBeGreaterThan(1);
  for (const aside of asides) expect(aside).not.toMatch(/track is \d+ m long/u);
});

test.each([
  ["phasor-circuit", phasorCircuit],
  ["resistor-mesh", resistorMesh],
  ["switched-transient", switchedTransient],
] as const)("%s: no current or power is forbidden that the circuit may have", (_, row) => {
  const asides = new Set([...instancesOf(row, [2, 3, 4])].map(({ instance }) => instance.aside));
  expect(asides.size).toBeGreaterThan(2);
  for (const aside of asides) expect(aside).not.toMatch(/\d (?:A|W)\b/u);
});
