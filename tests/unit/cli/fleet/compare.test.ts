/** Clocks, differences between hosts, and the table of `prl fleet check`. */
import { expect, test } from "vitest";

import { type Check, ok, problem } from "../../../../ts/cli/doctor/check.ts";
import { clockCheck, withDifferences } from "../../../../ts/cli/fleet/check-fleet.ts";
import { fleetText, problemsOf } from "../../../../ts/cli/fleet/fleet-text.ts";

const driver = (version: string): Check => ({ ...ok("Driver", version), alike: version });

test.each([
  [0.2, 1, "ok", "+0.2 ms (within 0.5 ms)"],
  [-800, 10, "warning", "-800.0 ms (within 5.0 ms)"],
  [700, 900, "ok", "+700.0 ms (within 450.0 ms)"],
  [90_000, 10, "problem", "+90000.0 ms (within 5.0 ms)"],
])("a clock that is %d ms off, by a round trip of %d ms, is %s", (offsetMs, roundTripMs, status, detail) => {
  expect(clockCheck({ offsetMs, roundTripMs })).toMatchObject({ status, detail });
});

test("a host that differs from most is warned of, where all should be alike", () => {
  const reports = ["570", "570", "550"].map((version, index) => {
    return { host: `h${index}`, checks: [driver(version), ok("Memory", `${index} GiB`)] };
  });
  const statuses = withDifferences(reports).map(({ checks }) => checks.map(({ status }) => status));
  expect(statuses).toEqual([
    ["ok", "ok"],
    ["ok", "ok"],
    ["warning", "ok"],
  ]);
  expect(withDifferences(reports)[2]?.checks[0]?.fix).toBe(
    "most hosts have 570: make them alike, or leave this one out",
  );
  const broken = [
    { host: "a", checks: [problem("Driver", "gone", "mend")] },
    { host: "b", checks: [driver("1")] },
  ];
  expect(withDifferences(broken)).toEqual(broken);
});

test("the table has a row for each check and a column for each host, and what to mend below it", () => {
  const reports = [
    { host: "a", checks: [driver("570"), problem("Disk", "full\u001b[31m", "make room")] },
    { host: "b", checks: [driver("x".repeat(80))] },
  ];
  const text = fleetText(reports);
  expect(text).not.toContain("\u001b");
  const [header, , first, second] = text.split("\n");
  expect(header).toMatch(/^ +a +b$/u);
  expect(first).toMatch(/^Driver +570 +x{43}…$/u);
  expect(second).toMatch(/^Disk +full.* \(PROBLEM\) +-$/u);
  expect(text).toMatch(/a: Disk \(PROBLEM\): full.*\n {2}to mend: make room\n/u);
  expect(text.trimEnd().split("\n").at(-1)).toBe("2 hosts: 1 problem to mend first");
  expect(problemsOf(reports)).toBe(1);
});
