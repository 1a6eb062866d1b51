import { describe, expect, it } from "vitest";

import { splitCores } from "../../../../ts/launcher/processes/cores.ts";

const unset = { trainer: null, inference: null, replicas: 1 };

describe("splitCores", () => {
  it.each([
    [1, 1, 1],
    [2, 1, 1],
    [3, 1, 2],
    [4, 2, 2],
    [16, 8, 8],
  ])("shares %i cores as %i + %i", (cores, trainer, inference) => {
    expect(splitCores(unset, cores)).toEqual({ trainer, inference });
  });

  it("divides the inference side among its replicas and never gives less than one thread", () => {
    expect(splitCores({ ...unset, replicas: 2 }, 8)).toEqual({ trainer: 4, inference: 2 });
    expect(splitCores({ ...unset, replicas: 4 }, 2)).toEqual({ trainer: 1, inference: 1 });
  });

  it("keeps set thread counts and gives the other cores to the other side", () => {
    expect(splitCores({ ...unset, trainer: 6 }, 8)).toEqual({ trainer: 6, inference: 2 });
    expect(splitCores({ ...unset, inference: 3, replicas: 2 }, 8)).toEqual({ trainer: 2, inference: 3 });
    expect(splitCores({ trainer: 8, inference: 8, replicas: 1 }, 2)).toEqual({ trainer: 8, inference: 8 });
    expect(splitCores({ ...unset, trainer: 4 }, 2)).toEqual({ trainer: 4, inference: 1 });
  });
});
