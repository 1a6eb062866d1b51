import { describe, expect, it } from "vitest";

import { raisedFileLimitWarning } from "../../../../ts/launcher/processes/file-limit.ts";
import { PrlError } from "../../../../ts/errors.ts";

describe("raisedFileLimitWarning", () => {
  it("is silent when enough files may be open", async () => {
    expect(await raisedFileLimitWarning(async () => ({ soft: 1_048_576, hard: 1_048_576 }))).toBeNull();
  });
  it("names the limit and the cure when it stays low", async () => {
    const warning = await raisedFileLimitWarning(async () => ({ soft: 1024, hard: 1024 }));
    expect(warning).toMatch(/1024.*ulimit -n/);
  });
  it("warns when it cannot be raised, but lets a missing addon through", async () => {
    const refused = async (): Promise<never> => Promise.reject(new Error("EPERM"));
    expect(await raisedFileLimitWarning(refused)).toContain("EPERM");
    const missing = async (): Promise<never> => Promise.reject(new PrlError("PRL_NATIVE_MISSING", "not built"));
    await expect(raisedFileLimitWarning(missing)).rejects.toMatchObject({ code: "PRL_NATIVE_MISSING" });
  });
});
