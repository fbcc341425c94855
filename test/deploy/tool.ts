// Programs that are no npm packages: found on the path or said to be missing, and run on the repository.
import { spawnSync } from 'node:child_process'
import path from 'node:path'

export const repository = path.join(import.meta.dirname, '..', '..')

/** True when the program can be run. Otherwise says in the test output what is skipped for it. */
export function hasTool(name: string, probe: readonly string[], skipped: string): boolean {
  const found = spawnSync(name, probe, { stdio: 'ignore' }).status === 0
  if (!found) process.stderr.write(`${name} is not installed: skipped ${skipped}. .ci/run installs it.\n`)
  return found
}

/** Standard output; throws with what the program said when it fails. */
export function runTool(name: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(name, args, { cwd: repository, encoding: 'utf8', maxBuffer: 16_000_000 })
  if (status !== 0) throw new Error(`${name} ${args.join(' ')} ended with ${status}: ${stderr}`)
  return stdout
}
