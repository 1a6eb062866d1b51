/** Chooses the form of a command, as in `prl env test` or `prl runs list`. */
import { nearest } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";

/** The form of that name. Errors: PRL_CLI_USAGE with the nearest one, or with all of them. */
export function chosenForm<Form extends { readonly name: string }>(
  command: string,
  forms: readonly Form[],
  name: string | undefined,
): Form {
  const form = forms.find((known) => known.name === name);
  if (form !== undefined) return form;
  const names = forms.map((each) => each.name);
  const near = name === undefined ? null : nearest(name, names);
  const got = name === undefined ? "" : `, got ${JSON.stringify(name)}`;
  const advice = near === null ? `see prl ${command} --help` : `did you mean "prl ${command} ${near}"?`;
  throw new PrlError("PRL_CLI_USAGE", `prl ${command}: expected ${names.join(", ")}${got}; ${advice}`);
}
