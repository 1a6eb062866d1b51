import { expect, test } from "vitest";

import { kernelsOf } from "../../../../ts/orchestrator/engines/engines.ts";

test.each([
  ["avx512bf16", "float32", "avx512", "float32", true],
  ["avx512bf16", "bfloat16", "avx512", "bfloat16", false],
  ["amx", "float32", "avx512bf16", "float32", true],
  ["amx", "bfloat16", "avx512bf16", "bfloat16", false],
  ["avx512", "float32", "avx2", "float32", false],
  ["avx512", "float32", "avx512", "bfloat16", false],
  ["avx2", "bfloat16", "avx2", "bfloat16", true],
])("%s %s and %s %s give the same bits: %s", (isa, dtype, otherIsa, otherDtype, same) => {
  expect(kernelsOf({ isa, dtype }) === kernelsOf({ isa: otherIsa, dtype: otherDtype })).toBe(same);
});
