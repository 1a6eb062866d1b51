/**
 * Checks what the kernel offers to isolate untrusted code. Missing parts are only warnings: a run without sandboxes needs none of them.
 *
 * It reads /proc and /sys and tries nothing, so a container's own filter may still forbid what is listed as available.
 */
import { access } from "node:fs/promises";
import { ok, warning, type Check } from "./check.ts";
import { readOrNull } from "./machine.ts";

const LATER = "only sandboxes need it (prl sandbox doctor says what they get here)";

export async function sandboxChecks(): Promise<Check[]> {
  if (process.platform !== "linux")
    return [warning("Sandboxes", `not on ${process.platform}`, "use Linux for sandboxed code")];
  return Promise.all([userNamespaces(), controlGroups(), landlock(), seccomp()]);
}

async function userNamespaces(): Promise<Check> {
  const name = "User namespaces";
  const most = Number((await readOrNull("/proc/sys/user/max_user_namespaces")) ?? "0");
  if (!(most > 0)) return warning(name, "none allowed", `set the sysctl user.max_user_namespaces above 0; ${LATER}`);
  if ((await readOrNull("/proc/sys/kernel/unprivileged_userns_clone"))?.trim() === "0") {
    return warning(name, "not for unprivileged users", `set the sysctl kernel.unprivileged_userns_clone=1; ${LATER}`);
  }
  if ((await readOrNull("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"))?.trim() === "1") {
    const fix = `set the sysctl kernel.apparmor_restrict_unprivileged_userns=0 or give the program a profile; ${LATER}`;
    return warning(name, "restricted by AppArmor for unprivileged users", fix);
  }
  return ok(name, `up to ${most}`);
}

async function controlGroups(): Promise<Check> {
  const name = "Control groups";
  const fix = `delegate a control group to this user (systemd: Delegate=yes); ${LATER}`;
  const controllers = (await readOrNull("/sys/fs/cgroup/cgroup.controllers"))?.trim();
  if (controllers !== undefined) {
    const missing = ["cpu", "memory", "pids"].filter((controller) => !controllers.split(" ").includes(controller));
    if (missing.length > 0) return warning(name, `v2 without ${missing.join(", ")}`, fix);
    return ok(name, `v2: ${controllers}`);
  }
  const v1 = (
    await Promise.all(
      ["cpu", "memory", "pids"].map(async (one) => ((await exists(`/sys/fs/cgroup/${one}`)) ? one : "")),
    )
  ).filter((one) => one !== "");
  return v1.length > 0
    ? ok(name, `v1: ${v1.join(" ")}`)
    : warning(name, "none mounted", `mount cgroup2 on /sys/fs/cgroup; ${LATER}`);
}

async function landlock(): Promise<Check> {
  const modules = (await readOrNull("/sys/kernel/security/lsm"))?.trim();
  if (modules === undefined)
    return warning("Landlock", "not known: /sys/kernel/security is not readable", `mount securityfs to see; ${LATER}`);
  if (modules.split(",").includes("landlock")) return ok("Landlock", "on");
  return warning("Landlock", `off (security modules: ${modules})`, `add landlock to the kernel's lsm= list; ${LATER}`);
}

async function seccomp(): Promise<Check> {
  const actions = (await readOrNull("/proc/sys/kernel/seccomp/actions_avail"))?.trim();
  if (actions !== undefined) return ok("Seccomp", actions);
  const status = await readOrNull("/proc/self/status");
  if (status?.includes("Seccomp:") === true) return ok("Seccomp", "on");
  return warning("Seccomp", "not in this kernel", `use a kernel with CONFIG_SECCOMP_FILTER; ${LATER}`);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
