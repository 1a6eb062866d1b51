/** Which weight versions stay, beside a model: the newest `keep`, what a reader holds, and nothing else; also when publishers are started again. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { readManifest } from "../../../ts/native/index.ts";
import { type AvailableWeights, filesystemWeights } from "../../../ts/transports/index.ts";
import { IS_LONG } from "../../support/form.ts";
import { stagedWeights } from "./staged-weights.ts";

interface Model {
  readonly keep: number;
  newest: number;
  /** Versions that are there. */
  there: number[];
}

type Weights = ReturnType<typeof filesystemWeights>;

interface Real {
  readonly runDir: string;
  trainer: Weights;
  readonly orchestrator: Weights;
  readonly held: { version: number; weights: AvailableWeights }[];
}

const soon = () => ({ deadlineMs: 20_000, signal: new AbortController().signal });

async function look({ keep, newest, there }: Model, { runDir, held }: Real): Promise<void> {
  const root = join(runDir, "weights");
  const names = (await readdir(root)).filter((name) => /^step_\d+$/u.test(name));
  expect(names.map((name) => Number(name.slice(5))).toSorted((a, b) => a - b)).toEqual(there);
  const needed = new Set([
    ...there.filter((version) => version > newest - keep),
    ...held.map(({ version }) => version),
  ]);
  for (const version of needed) expect(await readManifest(join(root, `step_${version}`))).toMatchObject({ version });
}

const command = (
  text: string,
  act: (model: Model, real: Real) => Promise<void>,
  check: (model: Readonly<Model>) => boolean = () => true,
): fc.AsyncCommand<Model, Real> => ({
  check,
  async run(model, real) {
    await act(model, real);
    await look(model, real);
  },
  toString: () => text,
});

const commands = [
  fc.constant(
    command("a version is published", async (model, { trainer, held }) => {
      model.newest += 1;
      await trainer.publish(model.newest, stagedWeights("F32", model.newest), null);
      const stays = (version: number) =>
        version > model.newest - model.keep || held.some((one) => one.version === version);
      model.there = [...model.there, model.newest].filter(stays);
    }),
  ),
  fc.nat(9).map((which) =>
    command(
      `a version is read and held (${which})`,
      async ({ there }, { orchestrator, held }) => {
        const version = there[which % there.length] ?? 0;
        if (!held.some((one) => one.version === version))
          held.push({ version, weights: await orchestrator.receive(version, soon()) });
      },
      ({ there }) => there.length > 0,
    ),
  ),
  fc.constant(command("the oldest reader lets go", async (_model, { held }) => held.shift()?.weights.release())),
  fc.constant(
    command("the publisher is started again", async ({ keep }, real) => {
      await real.trainer.close();
      real.trainer = filesystemWeights(real.runDir, { keep });
    }),
  ),
];

test("the newest versions stay, those that are held too, and no other", async () => {
  const acts = fc.commands(commands, { maxCommands: 30 });
  const property = fc.asyncProperty(fc.integer({ min: 1, max: 4 }), acts, async (keep, sequence) => {
    const runDir = await mkdtemp(join(tmpdir(), "prl-weight-retention-"));
    const open = () => filesystemWeights(runDir, { keep });
    const real: Real = { runDir, trainer: open(), orchestrator: open(), held: [] };
    try {
      await real.trainer.publish(0, stagedWeights("F32"), null);
      await fc.asyncModelRun(() => ({ model: { keep, newest: 0, there: [0] }, real }), sequence);
    } finally {
      for (const { weights } of real.held) await weights.release();
      await Promise.all([real.trainer.close(), real.orchestrator.close()]);
      await rm(runDir, { recursive: true });
    }
  });
  await fc.assert(property, { numRuns: IS_LONG ? 300 : 15 });
});
