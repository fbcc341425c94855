// `pipespan config check [FILE]`: everything that is wrong with the configuration, at once. No secret is printed.
import { costsOf } from './config-costs.ts'
import { describeConfig } from '../config/describe.ts'
import { describeFault } from '../config/config-fault.ts'
import { loadConfig } from '../config/load.ts'
import { profiles } from '../platform/profile.ts'
import type { Environment } from '../config/variables.ts'

export interface ConfigCheckOptions {
  /** The YAML file; else `PIPESPAN_CONFIG` names it. */
  readonly file?: string | undefined
  /** Also print every setting in effect, and where it comes from. */
  readonly show?: boolean | undefined
}

export interface ConfigCheckIo {
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown }
  readonly env: Environment
}

/** The exit code: 0 when the daemon would start with it, 2 when it would not. Warnings do not change it. */
export async function configCheck({ file, show }: ConfigCheckOptions, io: ConfigCheckIo): Promise<number> {
  const loaded = loadConfig({ env: io.env, file, profiles })
  for (const warning of loaded.warnings) io.stderr.write(`warning: ${warning}\n`)
  if (!loaded.ok) {
    for (const fault of loaded.faults) io.stderr.write(`${describeFault(fault)}\n`)
    const { length } = loaded.faults
    io.stderr.write(`${length === 1 ? '1 fault' : `${length} faults`} in the configuration.\n`)
    return 2
  }
  if (show === true) io.stdout.write(describeConfig(loaded))
  else io.stdout.write('The configuration is fine.\n')
  for (const cost of costsOf(loaded.config)) io.stdout.write(`${cost}\n`)
  return 0
}
