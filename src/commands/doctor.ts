// `pipespan doctor`: runs every check that can explain why nothing arrives. It prints one line for each finding. The line of a problem also says how
// to fix it.
import { namedProjects, platformNames } from '../daemon/connections.ts'
import { plainLine } from '../lib/plain-text.ts'
import { inSettingsOf } from '../platform/port/error.ts'
import { checkBudget, checkClock, checkPlatform } from './doctor/platform.ts'
import { configuredClient } from './platform.ts'
import { checkDaemon } from './doctor/daemon.ts'
import { checkDestinations, checkRoutes, messageRoutes } from './doctor/destinations.ts'
import { checkHooks } from './doctor/hooks.ts'
import { refusedOf } from '../core/complete/capability.ts'
import { createSelection } from '../core/take-in/selection.ts'
import { checkInstances, checkStore } from './doctor/store.ts'
import { describeFault } from '../daemon/configuration/config-fault.ts'
import { features } from '../features.ts'
import { messageDestinations, surroundingsOf } from '../daemon/export.ts'
import { loadConfig } from '../daemon/configuration/load.ts'
import { print, type Terminal, printJson } from '../lib/terminal.ts'
import { platformViews, type PlatformView } from '../daemon/configuration/platforms.ts'
import { profiles, type ProfileName } from '../daemon/profile.ts'
import type { SharedStore } from '../core/store/ports/store.ts'
import { reasonOf } from '../lib/fault.ts'
import { reportOf, type Finding, type Level } from '../lib/finding.ts'
import type { Config } from '../daemon/configuration/options.ts'

const doctorExit = { fine: 0, warnings: 1, failures: 2 } as const

const marks: Readonly<Record<Level, string>> = { fine: '✓', skipped: '-', warning: '!', failure: '✗' }

export async function doctor(
  terminal: Terminal,
  options: { readonly file?: string | undefined; readonly json: boolean; readonly project?: string | undefined },
): Promise<number> {
  const findings: Finding[] = []
  const show = (found: readonly Finding[]): void => {
    findings.push(...found)
    if (!options.json) for (const finding of found) print(terminal, lineOf(finding))
  }
  const config = configuration(terminal, options.file, show)
  if (config !== undefined && options.project !== undefined) {
    const projects = namedProjects(config, options.project)
    if (projects.length === 0) show([unknownPlatform(config, options.project)])
    const selection = createSelection(config, platformNames(config))
    for (const project of projects) {
      show(await checkRoutes(surroundingsOf(config, features).destinations, selection, project))
      show(messageRoutes(messageDestinations(config, features), project))
    }
  } else if (config !== undefined) await examine(config, show)
  const failures = findings.filter(({ level }) => level === 'failure').length
  const warnings = findings.filter(({ level }) => level === 'warning').length
  if (options.json) printJson(terminal, { failures, warnings, findings }, 2)
  else print(terminal, `\n${summary(failures, warnings)}`)
  if (failures > 0) return doctorExit.failures
  return warnings > 0 ? doctorExit.warnings : doctorExit.fine
}

function unknownPlatform(config: Config<ProfileName>, project: string): Finding {
  const names = [...new Set(platformViews(config).map(({ platform }) => platform))].join(', ')
  return reportOf('routes')('failure', `The platform of ${project} is not configured.`, `Name one of these: ${names}.`)
}

function configuration(
  terminal: Terminal,
  file: string | undefined,
  show: (found: readonly Finding[]) => void,
): Config<ProfileName> | undefined {
  const report = reportOf('configuration')
  const loaded = loadConfig({ env: terminal.env, file, profiles, features })
  if (!loaded.ok) {
    show(loaded.faults.map(fault => report('failure', describeFault(fault))))
    return undefined
  }
  show([report('fine', 'The configuration is valid.'), ...loaded.warnings.map(warning => report('warning', warning))])
  return loaded.config
}

type Check = () => Promise<Finding | readonly Finding[]>

/** Runs the checks in the order of the data flow. If one check throws, the others still run. */
async function examine(config: Config<ProfileName>, show: (found: readonly Finding[]) => void): Promise<void> {
  const surroundings = surroundingsOf(config, features)
  const { destinations } = surroundings
  const { findings, store } = await checkStore(config)
  show(findings)
  const views = platformViews(config)
  const instances = [...new Set(views.map(view => view.config.platform.url))]
  const run = async (name: string, check: Check, ofPlatform?: string): Promise<void> => {
    const answer = await check().catch((error: unknown) =>
      reportOf(name)('warning', `This check failed unexpectedly: ${reasonOf(error)}.`),
    )
    const found = [answer].flat()
    show(ofPlatform === undefined ? found : found.map(one => inTermsOf(ofPlatform, one)))
  }
  try {
    for (const view of views) {
      await examinePlatform(view, store, async (name, check) =>
        run(name, check, views.length > 1 ? view.name : undefined),
      )
    }
    await run('instances', async () => (store === undefined ? [] : checkInstances(instances, store)))
    await run('export', async () => checkDestinations(destinations, config.observability.export.length === 0))
    for (const { name, run: check } of features.flatMap(one => one.checks ?? []))
      await run(name, async () => check(config as never, surroundings))
  } finally {
    await store?.close()
  }
}

const details = new Map([
  ['jobs', 'Jobs of pipelines'],
  ['bridges', 'Bridges of pipelines'],
  ['commits', 'Commits of deployments'],
])

/** Runs the checks for one token of one platform. */
async function examinePlatform(
  { groups, config }: PlatformView<ProfileName>,
  store: SharedStore | undefined,
  run: (name: string, check: Check) => Promise<void>,
): Promise<void> {
  const client = configuredClient(config)
  try {
    if (groups.length === 0) await run('daemon', async () => checkDaemon(config))
    await run('platform', async () => checkPlatform(config, client))
    await run('hooks', async () => checkHooks(config, client))
    if (groups.length === 0) await run('clock', async () => checkClock(config))
    await run('budget', async () => checkBudget(config, store))
    if (client !== undefined && store !== undefined)
      await run('jobs', async () => refusedOf(store, client.instance, reportOf('jobs'), what => details.get(what)))
    for (const { name, run: check } of features.flatMap(one => one.perToken?.checks ?? []))
      await run(name, async () => check(config as never, { config, client, store }))
  } finally {
    await client?.close()
  }
}

function lineOf({ check, level, what, remedy }: Finding): string {
  return `${marks[level]} ${plainLine(`${check}: ${what} ${remedy ?? ''}`)}`
}

function summary(failures: number, warnings: number): string {
  if (failures + warnings === 0) return 'All checks passed.'
  const parts = [
    failures > 0 ? `${failures} ${failures === 1 ? 'failure' : 'failures'}` : undefined,
    warnings > 0 ? `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}` : undefined,
  ]
  return `${parts.filter(part => part !== undefined).join(', ')}.`
}

/** Adds the name of the platform to a finding. Used if several platforms are configured. */
function inTermsOf(platform: string, { what, remedy, ...finding }: Finding): Finding {
  const text = inSettingsOf(platform, what)
  return {
    ...finding,
    what: `${platform}: ${text}`,
    ...(remedy !== undefined && { remedy: inSettingsOf(platform, remedy) }),
  }
}
