import { gateOf } from "./gate.ts";

await gateOf("instructions");
