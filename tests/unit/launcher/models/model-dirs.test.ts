import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { resolveModelDirs } from "../../../../ts/launcher/models/model-dirs.ts";

const MODEL = { dir: "/base", key: "k", weights: "w", origin: "given", damage: null } as const;
const WARM = "/warm";

/** The folders, and how often the warm start was asked for. */
async function resolved({ isNew, warms, kl }: { isNew: boolean; warms: boolean; kl: boolean }) {
  let trained = 0;
  const config = rlConfigSchema.parse({
    model: { name: "/base" },
    trainer: { loss: kl ? { kl: { coef: 0.1 } } : {} },
    orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] } },
  });
  const before = structuredClone(config);
  const warmStart = async () => {
    trained += 1;
    return WARM;
  };
  const dirs = await resolveModelDirs(config, { model: MODEL, isNew, warmStart: warms ? warmStart : null });
  expect(config).toEqual(before);
  expect(dirs.baseWeights).toBe("w");
  return [dirs.modelDir, dirs.referenceDir, trained];
}

describe("the model folders of a run", () => {
  test.each([
    ["a new run begins with its model", { isNew: true, warms: false, kl: false }, ["/base", null, 0]],
    ["a new run begins with its warm start", { isNew: true, warms: true, kl: false }, [WARM, null, 1]],
    ["a new run is compared with its model", { isNew: true, warms: false, kl: true }, ["/base", "/base", 0]],
    ["a new run is compared with its warm start", { isNew: true, warms: true, kl: true }, [WARM, WARM, 1]],
    ["a resumed run needs no warm start", { isNew: false, warms: true, kl: false }, ["/base", null, 0]],
    ["a resumed run is compared with its warm start", { isNew: false, warms: true, kl: true }, ["/base", WARM, 1]],
    ["a resumed run is compared with its model", { isNew: false, warms: false, kl: true }, ["/base", "/base", 0]],
  ])("%s", async (_, given, expected) => {
    expect(await resolved(given)).toEqual(expected);
  });
});
