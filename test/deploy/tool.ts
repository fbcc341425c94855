// Runs external programs (not npm packages) on the repository. They are looked up on the PATH, or reported as missing.
import { spawnSync } from 'node:child_process'
import path from 'node:path'

export const repository = path.join(import.meta.dirname, '..', '..')

/** True if the program can be run. Otherwise the test output names the tests that are skipped. */
export function hasTool(name: string, probe: readonly string[], skipped: string): boolean {
  const found = spawnSync(name, probe, { stdio: 'ignore' }).status === 0
  if (!found) process.stderr.write(`${name} is not installed: skipped ${skipped}. .ci/run installs it.\n`)
  return found
}

/** Returns the program's standard output. If the program fails, throws an error with its output. */
export function runTool(name: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(name, args, { cwd: repository, encoding: 'utf8', maxBuffer: 16_000_000 })
  if (status !== 0) throw new Error(`${name} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return stdout
}
