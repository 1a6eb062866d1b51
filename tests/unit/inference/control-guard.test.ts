import { describe, expect, it } from "vitest";

import { hostProblem } from "../../../ts/inference/control-guard.ts";
import { isWide } from "../../../ts/loopback.ts";

describe("the host that a server listens on", () => {
  it.each(["127.0.0.1", "127.8.9.10", "::1", "[::1]", "::ffff:127.0.0.1", "localhost"])(
    "needs no key when only this machine reaches it: %s",
    async (host) => {
      expect(await hostProblem(host, false)).toBeNull();
      expect(await isWide(host)).toBe(false);
    },
  );

  it.each(["0.0.0.0", "::", "[::]", "192.0.2.1", "10.0.0.1", "2001:db8::1", "::ffff:10.0.0.1", "128.0.0.1"])(
    "needs a key when other machines reach it: %s",
    async (host) => {
      expect(await hostProblem(host, false)).toMatch(/PRL_TRANSPORT_TOKEN/u);
      expect(await isWide(host)).toBe(true);
      expect(await hostProblem(host, true)).toBeNull();
    },
  );

  it("has to have an address", async () => {
    expect(await hostProblem("no such host", true)).toMatch(/no such host is no address/u);
  });
});
