/** `[slurm]`: what it takes, and what it refuses. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { slurmBlock } from "../../../../ts/config/schema/clusters/slurm.ts";

const problems = (slurm: Record<string, unknown>) =>
  (slurmBlock.safeParse(slurm).error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

describe("[slurm]", () => {
  test("has defaults for all keys, and takes what Slurm takes", () => {
    expect(problems({})).toEqual([]);
    const values = {
      job_name: "a-b_c",
      partition: "gpu,long",
      time: "2-00:30",
      gres: "gpu:h100:4",
      mem: "64G",
      nodelist: "n[1-4,7]",
      extra: ["--constraint=a&b", "--hold", "--dependency=afterok:12"],
      setup: ["export A='b c' # here"],
      command: ["/opt/prl it's/prl", "--x y"],
    };
    expect(problems(values)).toEqual([]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ nodes: 0 }, "nodes"],
    [{ nodes: 1.5 }, "nodes"],
    [{ time: "tomorrow" }, "time"],
    [{ time: "10:00\n#SBATCH --uid=0" }, "time"],
    [{ mem: "64 GB" }, "mem"],
    [{ partition: "gpu --uid=0" }, "partition"],
    [{ job_name: "$(id)" }, "job_name"],
    [{ account: "a\nb" }, "account"],
    [{ nodelist: "`id`" }, "nodelist"],
    [{ modules: ["cuda; id"] }, "modules.0"],
    [{ setup: ["a\nb"] }, "setup.0"],
    [{ command: [] }, "command"],
    [{ extra: ["hold"] }, "extra.0"],
    [{ extra: ["--comment=a b"] }, "extra.0"],
    [{ extra: ["--comment='a'"] }, "extra.0"],
    [{ extra: ["--nodes=4"] }, "slurm.nodes"],
    [{ extra: ["--signal=USR1@60"] }, "slurm.grace_s"],
    [{ extra: ["--array=1-4"] }, "--array"],
    [{ gpus_per_node: 2, gres: "gpu:2" }, "gres"],
    [{ container_mounts: ["/a:/a"] }, "container_image"],
    [{ container_image: "i" }, "command"],
    [{ partitions: "a" }, "partitions"],
  ])("refuses %j by name", (values, text) => {
    expect(problems(values)).toEqual([expect.stringContaining(text)]);
  });

  test("lets no text into an option that would end it or begin another", () => {
    const key = fc.constantFrom(
      "job_name",
      "partition",
      "account",
      "qos",
      "gres",
      "nodelist",
      "exclude",
      "time",
      "mem",
    );
    fc.assert(
      fc.property(key, fc.string({ unit: "binary", minLength: 1, maxLength: 40 }), (name, text) => {
        if (problems({ [name]: text }).length > 0) return;
        expect(text).toMatch(/^[^\s'"`$\\;#<>(){}!~?\p{Cc}]+$/u);
      }),
      { numRuns: 2_000 },
    );
  });
});
