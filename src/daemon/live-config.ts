// The live configuration. It is reloaded on request, one reload at a time.
import { createHash } from 'node:crypto'
import PQueue from 'p-queue'
import { describeFault } from './configuration/config-fault.ts'
import { EndOfProcess } from '../lib/uncaught.ts'
import { reasonOf } from '../lib/fault.ts'
import { reloadConfig } from './configuration/reload.ts'
import { shown } from './configuration/reader.ts'
import type { ConfigStatus } from '../console/sources/setup-shape.ts'
import type { Daemon } from './daemon.ts'
import { pathOf, type LoadedConfig, type LoadOptions } from './configuration/load.ts'
import type { Log } from '../lib/log.ts'
import type { Millis } from '../model/instant.ts'
import type { ProfileName } from './profile.ts'

export interface LiveConfigOptions {
  readonly loaded: LoadedConfig<ProfileName>
  readonly loading: LoadOptions<ProfileName>
  readonly log: Log
  readonly now: () => Millis
}

export interface LiveConfig {
  status(): ConfigStatus
  /**
   * Reloads the configuration. If the file has faults or the daemon cannot start with it, nothing changes. Rejects only with EndOfProcess, if the
   * daemon cannot start with the old configuration either. `text` is the content of the file, if it has already been read.
   */
  reload(daemon: Pick<Daemon, 'reload' | 'refresh'>, text?: string): Promise<void>
}

export function createLiveConfig({ loaded, loading, log, now }: LiveConfigOptions): LiveConfig {
  let running = loaded
  let since = now()
  let restart: readonly string[] = []
  let refused: ConfigStatus['refused']
  const reloads = { applied: 0, refused: 0 }
  const queue = new PQueue({ concurrency: 1 })
  /** The file content that the latest caller has read. If undefined, the file has to be read. */
  let asked: string | undefined

  function refuse(faults: readonly string[]): void {
    for (const fault of faults) log.error(fault)
    log.error('the configuration was not reloaded: the running configuration stays in use')
    refused = { at: now(), faults }
    reloads.refused += 1
  }

  async function once(daemon: Pick<Daemon, 'reload' | 'refresh'>): Promise<void> {
    const found = reloadConfig(running, { ...loading, text: asked })
    if (!found.ok) {
      refuse(found.faults.map(describeFault))
      return
    }
    for (const sentence of found.restart.values()) log.warn(sentence)
    restart = [...found.restart.keys()]
    if (found.changed.length === 0) {
      refused = undefined
      daemon.refresh()
      log.info('configuration checked, secrets reloaded')
      return
    }
    for (const warning of found.loaded.warnings) log.warn(warning)
    try {
      await daemon.reload(found.loaded.config)
    } catch (error) {
      if (error instanceof EndOfProcess) throw error
      refuse([reasonOf(error)])
      return
    }
    running = found.loaded
    since = now()
    refused = undefined
    reloads.applied += 1
    log.info({ changed: found.changed, config: digestOf(running) }, 'configuration reloaded')
  }

  /**
   * Reloads the configuration, and reports unexpected errors together with the file name, so that a bug in our configuration code does not end the
   * daemon.
   */
  async function reported(daemon: Pick<Daemon, 'reload' | 'refresh'>): Promise<void> {
    try {
      await once(daemon)
    } catch (error) {
      if (error instanceof EndOfProcess) throw error
      refuse([`${pathOf(loading) ?? 'the environment'}: The configuration cannot be read: ${reasonOf(error)}`])
    }
  }

  return {
    status: () => ({ digest: digestOf(running), since, restart, refused, reloads }),
    reload: async (daemon, text) => {
      asked = text
      // A queued reload reads the file only when it starts, so one queued reload is enough for all requests until then.
      if (queue.size === 0) await queue.add(async () => reported(daemon))
      else await queue.onIdle()
    },
  }
}

function digestOf({ settings }: LoadedConfig<ProfileName>): string {
  const texts = settings.map(setting => `${setting.path} = ${shown(setting)}`)
  return createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 12)
}
