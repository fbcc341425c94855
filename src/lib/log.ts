// The daemon's own log: JSON lines by pino, pretty on a terminal. Callers pass facts, never payloads and never secrets.
import { pino, type Logger } from 'pino'
import pretty from 'pino-pretty'
import { logSerializers } from './log-error.ts'

export type Log = Logger

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  readonly format: 'json' | 'pretty'
}

/** Lines that could not be written yet; more are left out. Characters. */
const longestBacklog = 1 << 20

/** Logs go to standard error: standard output belongs to what a command was asked for. */
export function createLog(options: LogOptions): Log {
  const settings = {
    level: options.level,
    base: null,
    serializers: logSerializers,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
  }
  const stream =
    options.format === 'pretty'
      ? pretty({ destination: 2, sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss', singleLine: true })
      : pino.destination({ dest: 2, sync: true, maxLength: longestBacklog })
  // Where it goes may be a file on a full disk: that costs lines, not the process.
  stream.on('error', () => undefined)
  return pino(settings, stream)
}

export function silentLog(): Log {
  return pino({ level: 'silent' })
}
