// `pipespan try`: runs the shipped daemon on loopback for a project or group of a real platform. Its pages show the pipelines of the last 24 hours
// and those that are currently running. It needs no webhook, exports nothing unless an endpoint is set, and leaves no files behind without `--keep`.
import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { askJobs, findTarget, targetOf, type FoundTarget } from './try-target.ts'
import { askedInSecret } from './setup/answers.ts'
import { complain, exitCode, print, type Terminal } from '../lib/terminal.ts'
import { ConfigError } from '../lib/fault.ts'
import { configurationToKeep, hasEndpoint, platformSettings, trySettings } from './try-settings.ts'
import { configuredClient } from './platform.ts'
import { DaemonProcess, freePort, freePorts } from '../simulator/daemon-process.ts'
import { plainLine } from '../lib/plain-text.ts'
import { makeFolder } from '../core/store/sqlite/store-file.ts'
import { misuse } from '../lib/command-line.ts'
import { noticeShape } from '../console/overview/notices.ts'
import { requireConfig } from './configuration.ts'
import { stopped, untilStopped } from './until-stopped.ts'
import { spawn } from 'node:child_process'

interface TryOptions {
  /** The folder in which the store is kept. By default the store is in a temporary folder. */
  readonly keep?: string | undefined
  /** Whether to open the pages in a browser. */
  readonly open: boolean
  /** Stops the command, as Ctrl-C does. */
  readonly signal?: AbortSignal | undefined
  /** The main file of the program to start. By default this program's own main file is used. */
  readonly main?: string | undefined
}

/** The default port of the pages. */
const defaultPort = 8081
/** The time within which the daemon must be ready. */
const startTimeoutMs = 120_000
const pollIntervalMs = 1_000
const requestTimeoutMs = 5_000

/** Runs the daemon until it is stopped. Throws a Fault or a misuse error if there is nothing to show. */
export async function tryPlatform(
  given: { readonly url: string; readonly target: string | undefined },
  options: TryOptions,
  terminal: Terminal,
): Promise<number> {
  const target = targetOf(given.url, given.target)
  const env = platformSettings(terminal.env, target.url, await tokenOf(terminal))
  const found = await ask(terminal, env, target)
  const folder = await storeFolder(options.keep)
  const remove = (): void => {
    if (options.keep === undefined) rmSync(folder, { recursive: true, force: true })
  }
  return untilStopped(options.signal, async stopping => {
    let daemon: DaemonProcess | undefined
    try {
      const adminPort = await freePort(defaultPort)
      const [port = 0] = await freePorts(1)
      const webhookToken = randomBytes(24).toString('hex')
      const places = { url: target.url, found, folder, port, adminPort, webhookToken }
      daemon = new DaemonProcess({ main: options.main, args: ['serve'], env: trySettings(env, places) })
      // The listener that removes the folder is added after the one that kills the daemon, because a running daemon would still write to the folder.
      process.once('exit', remove)
      const code = await show(daemon, `http://127.0.0.1:${adminPort}/`, { options, env, terminal }, stopping)
      if (code === exitCode.done) {
        print(terminal, `\n${configurationToKeep(env, { ...places, kept: options.keep && folder })}`)
      }
      return code
    } finally {
      await daemon?.stop()
      remove()
      process.off('exit', remove)
    }
  })
}

/** Asks the user for a token. Returns undefined if the environment contains one. */
async function tokenOf(terminal: Terminal): Promise<string | undefined> {
  const { PIPESPAN_PLATFORM_TOKEN: token, PIPESPAN_PLATFORM_TOKEN_FILE: file } = terminal.env
  if ((token ?? '') !== '' || (file ?? '') !== '') return undefined
  const typed = await askedInSecret('Token with the scope read_api (it is not shown, and not stored)', terminal)
  if (typed !== undefined && typed !== '') return typed
  throw misuse(
    'A token with the scope read_api is needed. Create one in your settings on the platform, and set PIPESPAN_PLATFORM_TOKEN to it.',
  )
}

/**
 * Fetches the project or group from the platform before the daemon is started, and prints the result. Throws a Fault that says how to fix the
 * problem.
 */
async function ask(
  terminal: Terminal,
  env: NodeJS.ProcessEnv,
  target: ReturnType<typeof targetOf>,
): Promise<FoundTarget> {
  const { config } = requireConfig({ ...terminal, env }, undefined)
  const client = configuredClient(config)
  if (client === undefined) throw misuse('The token is empty. Set PIPESPAN_PLATFORM_TOKEN to a token with read_api.')
  try {
    const found = await findTarget(client, target)
    print(terminal, `✓ ${described(found)} at ${target.url}.`)
    const refusal = await askJobs(client, found)
    if (refusal !== undefined) print(terminal, `! ${plainLine(refusal.message)}`)
    return found
  } finally {
    await client.close()
  }
}

function described(found: FoundTarget): string {
  const name = plainLine(found.name)
  if (found.is === 'project') return `The project ${name}`
  const { length } = found.projects
  const projects = length === 1 ? 'project' : 'projects'
  return `The group ${name} with ${found.isWhole ? length : `more than ${length}`} ${projects}, including those of its subgroups,`
}

async function storeFolder(keep: string | undefined): Promise<string> {
  if (keep === undefined) return mkdtemp(path.join(tmpdir(), 'pipespan-try-'))
  const folder = path.resolve(keep)
  try {
    makeFolder(folder)
    return folder
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException
    throw new ConfigError(
      `The folder ${folder} cannot be created (${code}).`,
      'Give --keep a folder that you can write to.',
      {
        cause,
      },
    )
  }
}

/** Opens the pages and prints progress until the command is stopped or the daemon exits. */
async function show(
  daemon: DaemonProcess,
  pages: string,
  { options, env, terminal }: { options: TryOptions; env: NodeJS.ProcessEnv; terminal: Terminal },
  stopping: AbortSignal,
): Promise<number> {
  const readiness = await Promise.race([daemon.ready(`${pages}readyz`, startTimeoutMs), stopped(stopping)])
  if (readiness === 'stopped') return exitCode.done
  if (readiness !== 'ready') return fail('The daemon did not become ready.', daemon, terminal)
  const isOpened = options.open && openBrowser(pages, terminal)
  print(terminal, `${isOpened ? 'The pages open in your browser' : 'Open the pages in your browser'}: ${pages}`)
  print(
    terminal,
    'They show the pipelines of the last 24 hours and those that are running now, and are updated every 10 seconds.',
  )
  print(
    terminal,
    hasEndpoint(env)
      ? 'Exports are sent to the endpoint of OTEL_EXPORTER_OTLP_….'
      : 'Nothing is exported: no endpoint is set.',
  )
  const kept = options.keep === undefined ? 'No data is kept' : `The store stays in ${path.resolve(options.keep)}`
  print(terminal, `${kept}. Ctrl-C stops it and prints the configuration for a permanent daemon.`)
  const end = await Promise.race([follow(pages, terminal, stopping), daemon.exited.then(() => 'died' as const)])
  return end === 'died' ? fail('The daemon exited.', daemon, terminal) : exitCode.done
}

const listShape = z.object({ total: z.number().optional() })
const overviewShape = z.object({ active: z.number(), notices: z.array(noticeShape) })

/** Prints how many pipelines were found, and prints each problem once, such as a missing permission of the token. */
async function follow(pages: string, terminal: Terminal, stopping: AbortSignal): Promise<void> {
  const { stdout } = terminal
  const printed = new Set<string>()
  let lastLine = ''
  while (!stopping.aborted) {
    const [list, overview] = await Promise.all([
      answer(`${pages}api/pipelines`, listShape),
      answer(`${pages}api/overview`, overviewShape),
    ])
    for (const { level, what, remedy } of overview?.notices ?? []) {
      if (level !== 'problem' || printed.has(what)) continue
      printed.add(what)
      print(terminal, `${stdout.isTTY === true && lastLine !== '' ? '\n' : ''}! ${plainLine(`${what} ${remedy}`)}`)
      lastLine = ''
    }
    if (list !== undefined && overview !== undefined) {
      const { total } = list
      const line = `Found ${total ?? 'many'} ${total === 1 ? 'pipeline' : 'pipelines'}, ${overview.active} running.`
      // On a terminal, the previous line is overwritten.
      if (line !== lastLine) stdout.write(stdout.isTTY === true ? `\r\u001b[2K${line}` : `${line}\n`)
      lastLine = line
    }
    await sleep(pollIntervalMs, undefined, { signal: stopping }).catch(() => undefined)
  }
}

/** Requests JSON. Returns undefined if the response does not have the given shape; a later request may succeed. */
async function answer<T>(url: string, shape: z.ZodType<T>): Promise<T | undefined> {
  const response = await fetch(url, { signal: AbortSignal.timeout(requestTimeoutMs) }).catch(() => undefined)
  if (response?.ok !== true) return undefined
  const parsed = shape.safeParse(await response.json().catch(() => undefined))
  return parsed.success ? parsed.data : undefined
}

function fail(what: string, daemon: DaemonProcess, terminal: Terminal): number {
  complain(terminal, `${what} Its last lines:`)
  for (const line of daemon.lastLines) complain(terminal, `  ${line}`)
  return exitCode.failed
}

// Opens a page in the user's browser, but only where people expect that: in a terminal on a desktop, not over SSH and not in CI.
/** Returns whether it tried to open a browser. It is not an error if no browser starts, because the address is on the screen. */
export function openBrowser(url: string, { stdout, env }: Terminal, platform = process.platform): boolean {
  const command = commandOf(env, platform)
  const isRemote = [env.CI, env.SSH_CONNECTION, env.SSH_TTY].some(value => value !== undefined && value !== '')
  if (stdout.isTTY !== true || isRemote || command === undefined) return false
  spawn(command, [url], { env, stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref()
  return true
}

function commandOf({ DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv, platform: NodeJS.Platform): string | undefined {
  if (platform === 'darwin') return 'open'
  if (platform === 'win32') return 'explorer'
  return (DISPLAY ?? WAYLAND_DISPLAY ?? '') === '' ? undefined : 'xdg-open'
}
