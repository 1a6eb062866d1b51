/** `prl model list`: a table of the models in the cache. */
import { hubSettings } from "../../../hub/index.ts";
import { type CachedRevision, listModels } from "../../../models/index.ts";
import { formatBytes, renderTable } from "../../../monitors/index.ts";
import { type PlainArguments, refusePositionals } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { printable } from "../../runs/text.ts";

export async function run({ positionals }: PlainArguments, io: CommandIo): Promise<number> {
  refusePositionals("model list", positionals);
  const settings = hubSettings(io.env);
  const cache = settings.caches.model;
  const models = await listModels(settings);
  if (io.json) {
    const rows = models.map((model) => ({ ...model, loads: verdict(model) === "yes" }));
    io.writeJson({ cache, models: rows });
    return EXIT.done;
  }
  if (models.length === 0) {
    io.stdout.write(`No models in ${cache}\n`);
    return EXIT.done;
  }
  const lines = renderTable(
    ["model", "revision", "commit", "size", "prl loads it"],
    models.map((model) => [
      printable(model.model),
      printable(model.revisions.join(", ")) || "–",
      model.commit.slice(0, 8),
      formatBytes(model.bytes),
      printable(verdict(model)),
    ]),
  );
  io.stdout.write(`${lines.join("\n")}\n`);
  return EXIT.done;
}

function verdict({ missing, refusal }: CachedRevision): string {
  if (refusal !== null) return `no: ${refusal.code}`;
  return missing.length === 0
    ? "yes"
    : `no: without ${missing.slice(0, 2).join(", ")}${missing.length > 2 ? ", ..." : ""}`;
}
