/** The model of the hub that a command line names. */
import { PrlError } from "../../../errors.ts";
import { type ModelReference, parseModelName } from "../../../models/index.ts";
import { type PlainArguments, showText } from "../../arguments/args.ts";

/** Errors: PRL_CLI_USAGE. */
export function namedModel(form: string, { options, positionals }: PlainArguments): ModelReference {
  const [text, ...others] = positionals;
  const revision = options.get("--revision");
  const usage = (problem: string): PrlError =>
    new PrlError("PRL_CLI_USAGE", `prl model ${form}: ${problem}; see prl model --help`);
  if (text === undefined || others.length > 0) throw usage("expected one model, org/name");
  if (revision !== undefined && text.includes("@"))
    throw usage(`${showText(text)} and --revision both name a revision`);
  const reference = parseModelName(text, revision);
  if (reference !== null) return reference;
  const shown = revision === undefined ? showText(text) : `${showText(text)} at ${showText(revision)}`;
  throw usage(`${shown} is no model of the hub: org/name and org/name@revision are`);
}
