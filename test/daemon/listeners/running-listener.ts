// Starts a listener for a test, on a free port of the loopback address.
import { onTestFinished } from 'vitest'
import { createHealth } from '../../../src/daemon/listeners/health.ts'
import {
  createListener,
  type Listener,
  type ListenerOptions,
  type Routes,
} from '../../../src/daemon/listeners/listener.ts'
import { silentLog } from '../../../src/lib/log.ts'

export const health = createHealth({
  proveWritable: async () => undefined,
  stopping: () => false,
  now: Date.now,
  log: silentLog(),
})

export interface Running {
  readonly listener: Listener
  readonly port: number
  readonly url: string
}

/** The options of a listener on a free port of this machine. */
export const local: ListenerOptions = {
  ...{ name: 'test', host: '127.0.0.1', port: 0, trustProxy: false },
  ...{ health, log: silentLog() },
}

/** Starts a listener that is stopped after the test. */
export async function run(options: Partial<ListenerOptions> = {}, routes?: Routes): Promise<Running> {
  const listener = createListener({ ...local, ...options })
  if (routes !== undefined) listener.register(routes)
  const { port, url } = await listener.start()
  onTestFinished(() => listener.stop(0))
  return { listener, port, url }
}

/** Returns a GET request as text. `more` are further header lines. */
export const get = (path: string, more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${more}\r\n`
