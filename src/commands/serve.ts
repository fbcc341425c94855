// `pipespan serve`: runs the daemon until a signal stops it.
import { complain, exitCode, type Terminal } from '../lib/terminal.ts'
import { describeFault } from '../daemon/configuration/config-fault.ts'
import { createLiveConfig } from '../daemon/live-config.ts'
import { commandLog } from './configuration.ts'
import { features } from '../features.ts'
import { Fault, reasonOf } from '../lib/fault.ts'
import { loadConfig, pathOf, type LoadOptions } from '../daemon/configuration/load.ts'
import { checkFile, watchConfig } from './config-watch.ts'
import { profiles, type ProfileName } from '../daemon/profile.ts'
import { collectAfterStart, compileWebAssemblyOnce, keepHeapsSmall, memoryLimit } from '../lib/small-heap.ts'
import { outliveErrors } from '../lib/uncaught.ts'
import type { Daemon } from '../daemon/daemon.ts'
import { version } from '../lib/version.ts'
import { onSignals } from './until-stopped.ts'
import type { Log } from '../lib/log.ts'

/** `file` is the configuration file given on the command line, if any. */
export async function serve(terminal: Terminal, file: string | undefined): Promise<number> {
  // Signal handlers are installed first, because by default these signals kill the process.
  const stopping = firstSignal()
  let onHangup = (): void => undefined
  process.on('SIGHUP', () => onHangup())
  const begun: { log?: Log } = {}
  const loading: LoadOptions<ProfileName> = {
    env: terminal.env,
    file,
    profiles,
    features,
    onSecretNews: (sentence, level) => begun.log?.[level](sentence),
  }
  const path = pathOf(loading)
  const seen = path === undefined ? undefined : checkFile(path)
  const loaded = loadConfig(loading)
  if (!loaded.ok) {
    for (const fault of loaded.faults) complain(terminal, describeFault(fault))
    return exitCode.misused
  }
  const { config } = loaded
  const log = commandLog(terminal, config)
  begun.log = log
  for (const warning of loaded.warnings) log.warn(warning)
  log.info({ version, node: process.versions.node }, 'pipespan starts')
  void stopping.then(signal => log.info({ signal }, 'stopping; send a second signal to exit immediately'))
  const live = createLiveConfig({ loaded, loading, log, now: () => Date.now() })
  const endWith = (fault: Fault): never => {
    log.fatal(fault.message)
    process.exit(exitCode.failed)
  }
  let daemon: Daemon
  try {
    const { startDaemon } = await import('../daemon/daemon.ts')
    compileWebAssemblyOnce()
    daemon = await startDaemon({ config, features, log, configStatus: () => live.status(), onDamage: endWith })
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    log.fatal(error.message)
    return exitCode.failed
  }
  log.info({ webhooks: `${daemon.url}/webhooks`, admin: daemon.adminUrl }, 'ready')
  outliveErrors(log)
  keepHeapsSmall(memoryLimit())
  const collecting = collectAfterStart(error =>
    log.debug({ reason: reasonOf(error) }, 'the garbage collection after the start failed'),
  )
  onHangup = () => void live.reload(daemon)
  const watching =
    config.configWatch && path !== undefined && seen !== undefined
      ? watchConfig({ file: path, loaded: seen, log }, text => void live.reload(daemon, text))
      : undefined
  await stopping
  onHangup = () => undefined
  watching?.stop()
  collecting.stop()
  await daemon.stop()
  log.info('stopped')
  return exitCode.done
}

/**
 * Resolves with the first signal that requests a stop. A signal during startup takes effect once startup has finished. A second signal ends the
 * process immediately.
 */
async function firstSignal(): Promise<string> {
  return new Promise(resolve => void onSignals(['SIGTERM', 'SIGINT'], resolve))
}
