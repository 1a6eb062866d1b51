/** Python environments of the backends that run on Python. */
export { type CudaBuild, cudaBuild } from "./cuda-build.ts";
export { hasNvidiaDriver } from "./driver.ts";
export {
  cachedInterpreter,
  environmentFolder,
  findInterpreter,
  isNewerThan,
  lacking,
  NEEDED_BY,
  probe,
  PYTHON_ENVIRONMENTS,
  type PythonEnvironment,
  type PythonProbe,
} from "./environments.ts";
export { type MadeEnvironment, setUpPython, type SetUpOptions } from "./set-up.ts";
