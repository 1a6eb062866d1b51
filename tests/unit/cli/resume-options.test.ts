/** The two options that ask for a checkpoint to resume from. */
import { expect, test } from "vitest";

import { resumeRequest } from "../../../ts/cli/processes/show-run.ts";

const asked = (options: Record<string, string>) => resumeRequest(new Map(Object.entries(options)));

test("a run is resumed from its newest checkpoint or from that of a step", () => {
  expect(asked({})).toBeUndefined();
  expect(asked({ "--resume": "latest" })).toBe("latest");
  expect(asked({ "--resume": "3" })).toBe(3);
  expect(asked({ "--ckpt.resume-step": "3" })).toBe(3);
});

test("both options, and what is no step, are refused by name", () => {
  expect(() => asked({ "--resume": "latest", "--ckpt.resume-step": "3" })).toThrow("give one of them");
  for (const value of ["0", "-1", "1.5", "new"])
    expect(() => asked({ "--ckpt.resume-step": value })).toThrow("--ckpt.resume-step take the step of a checkpoint");
});
