// `pipespan doctor`: every check that can show why nothing arrives, one line each, with a remedy.
import { checkBudget, checkClock, checkPlatform } from './doctor/platform.ts'
import { configuredClient } from './platform.ts'
import { checkAudit } from './doctor/audit.ts'
import { checkDaemon } from './doctor/daemon.ts'
import { checkDestinations } from './doctor/destinations.ts'
import { checkEnforcement } from './doctor/tokens.ts'
import { checkEvents } from './doctor/events.ts'
import { checkHooks } from './doctor/hooks.ts'
import { checkInsideJobs } from './doctor/inside-jobs.ts'
import { checkInventory } from './doctor/inventory.ts'
import { checkInstances, checkStore } from './doctor/store.ts'
import { describeFault } from '../config/config-fault.ts'
import { exportDestinations } from '../app/export.ts'
import { loadConfig } from '../config/load.ts'
import { print, type Terminal } from './terminal.ts'
import { profiles, type ProfileName } from '../app/profile.ts'
import { reasonOf } from '../lib/fault.ts'
import { reportOf, type Finding, type Level } from './doctor/finding.ts'
import type { Config } from '../config/options.ts'
import type { Destination } from '../export/destination.ts'

/** 0: all is fine. */
export const doctorExit = { fine: 0, warnings: 1, failures: 2 } as const

const marks: Readonly<Record<Level, string>> = { fine: '✓', skipped: '-', warning: '!', failure: '✗' }

export async function doctor(
  terminal: Terminal,
  options: { readonly file?: string | undefined; readonly json: boolean },
): Promise<number> {
  const findings: Finding[] = []
  const show = (found: readonly Finding[]): void => {
    findings.push(...found)
    if (!options.json) for (const finding of found) print(terminal, lineOf(finding))
  }
  const config = configuration(terminal, options.file, show)
  if (config !== undefined) await examine(config, show)
  const failures = findings.filter(({ level }) => level === 'failure').length
  const warnings = findings.filter(({ level }) => level === 'warning').length
  if (options.json) print(terminal, JSON.stringify({ failures, warnings, findings }, null, 2))
  else print(terminal, `\n${summary(failures, warnings)}`)
  if (failures > 0) return doctorExit.failures
  return warnings > 0 ? doctorExit.warnings : doctorExit.fine
}

function configuration(
  terminal: Terminal,
  file: string | undefined,
  show: (found: readonly Finding[]) => void,
): Config<ProfileName> | undefined {
  const report = reportOf('configuration')
  const loaded = loadConfig({ env: terminal.env, file, profiles })
  if (!loaded.ok) {
    show(loaded.faults.map(fault => report('failure', describeFault(fault))))
    return undefined
  }
  show([report('fine', 'The configuration is valid.'), ...loaded.warnings.map(warning => report('warning', warning))])
  return loaded.config
}

/** In the order of the flow. A check that throws does not hide the others. */
async function examine(config: Config<ProfileName>, show: (found: readonly Finding[]) => void): Promise<void> {
  const destinations = destinationsOf(config)
  const { findings, store } = await checkStore(config)
  show(findings)
  const client = configuredClient(config)
  const checks: readonly (readonly [string, () => Promise<Finding[]>])[] = [
    ['daemon', async () => checkDaemon(config)],
    ['platform', async () => checkPlatform(config, client)],
    ['hooks', async () => checkHooks(config, client)],
    ['events', async () => checkEvents(config, client, store)],
    ['clock', async () => checkClock(config)],
    ['instances', async () => (store === undefined ? [] : checkInstances(config, store))],
    ['budget', async () => checkBudget(config, store)],
    ['jobs', async () => checkInsideJobs(config, client, store)],
    ['inventory', async () => checkInventory(config, store, client)],
    ['audit', async () => checkAudit(config, client, store)],
    ['export', async () => checkDestinations(destinations, config.observability.export.length === 0)],
    ['enforcement', async () => checkEnforcement(config, destinations)],
  ]
  try {
    for (const [name, check] of checks) {
      show(
        await check().catch((error: unknown) => [
          reportOf(name)('warning', `This check failed unexpectedly: ${reasonOf(error)}.`),
        ]),
      )
    }
  } finally {
    await Promise.all([client?.close(), store?.close()])
  }
}

/** All destinations with all their signals, metrics included. */
function destinationsOf(config: Config): Destination[] {
  const { destinations, metricDestinations } = exportDestinations(config)
  return destinations.map(destination => {
    const metrics = metricDestinations.find(({ name }) => name === destination.name)?.signals.metrics
    return metrics === undefined ? destination : { ...destination, signals: { ...destination.signals, metrics } }
  })
}

function lineOf({ check, level, what, remedy }: Finding): string {
  return `${marks[level]} ${check}: ${what}${remedy === undefined ? '' : ` ${remedy}`}`
}

function summary(failures: number, warnings: number): string {
  if (failures + warnings === 0) return 'All checks passed.'
  const parts = [
    failures > 0 ? `${failures} ${failures === 1 ? 'failure' : 'failures'}` : undefined,
    warnings > 0 ? `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}` : undefined,
  ]
  return `${parts.filter(part => part !== undefined).join(', ')}.`
}
