import { describe, expect, test } from "vitest";
import { monitorsBlock } from "../../../../ts/config/schema/monitors.ts";

describe("[monitors]", () => {
  test("nothing listens unless a port is given", () => {
    expect(monitorsBlock.parse(undefined)).toEqual({ prometheus: null, tensorboard: null });
    expect(monitorsBlock.parse({ prometheus: { port: 9400 } })).toMatchObject({ prometheus: { port: 9400 } });
    expect(monitorsBlock.parse({ tensorboard: {} })).toEqual({ prometheus: null, tensorboard: { path: null } });
  });

  test.each([0, 65_533, 65_535, 1.5, "9400"])("%j is no port, or leaves none for the other processes", (port) => {
    expect(monitorsBlock.safeParse({ prometheus: { port } }).success).toBe(false);
  });
});
