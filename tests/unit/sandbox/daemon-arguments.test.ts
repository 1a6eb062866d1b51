import { describe, expect, test } from "vitest";
import { daemonArguments } from "../../../ts/sandbox/daemon-arguments.ts";

describe("settings of a daemon", () => {
  test("become arguments, and the daemon's defaults hold for the others", () => {
    expect(daemonArguments({})).toEqual([]);
    expect(daemonArguments({ maxRunning: 3, parked: 5, readable: ["/data", "/more"], cpus: 0.5 })).toEqual([
      "--max-running",
      "3",
      "--park",
      "5",
      "--readable",
      "/data",
      "--readable",
      "/more",
      "--cpus",
      "0.5",
    ]);
    expect(daemonArguments({ metricsAddress: "9400" })).toEqual(["--metrics-address", "9400"]);
    expect(daemonArguments({ images: { tools: "/srv/tools" }, maxHeld: 2 })).toEqual([
      "--max-held",
      "2",
      "--image",
      "tools=/srv/tools",
    ]);
  });

  test("name the interpreters to keep warm", () => {
    expect(daemonArguments({ warm: { python: 50, node: 4 } })).toEqual(["--warm", "python=50,node=4"]);
    expect(daemonArguments({ warm: { python: 0 }, parked: 9 })).toEqual(["--park", "9", "--warm", "python=0"]);
  });

  test.each([
    [{ maxRunning: 0 }, "maxRunning"],
    [{ warm: { python: -1 } }, "warm.python"],
    [{ cpus: 0 }, "cpus"],
    [{ parkd: 1 }, "parkd"],
  ])("%j is refused by its name", (settings, key) => {
    expect(() => daemonArguments(settings as object)).toThrow(
      expect.objectContaining({ code: "PRL_SANDBOX_REQUEST", message: expect.stringContaining(key) }),
    );
  });
});
