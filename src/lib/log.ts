// The daemon's own log: JSON lines by pino, formatted for people on a terminal. Callers log facts, never payloads and never secrets.
import { pino, type Logger } from 'pino'
import pretty from 'pino-pretty'
import { redact } from './secret.ts'

// Logs only the type, message, code and stack of an error, redacted. Other fields are omitted, because library errors contain requests, rows and
// headers.

/** The pino option `serializers`, for the field `err`. */
const logSerializers = { err: errorFacts }

function errorFacts(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: redact(String(error)) }
  const { name, message, stack, cause } = error
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return {
    type: name,
    message: redact(message),
    ...code,
    stack: redact(stack ?? ''),
    ...(cause instanceof Error ? { cause: redact(cause.stack ?? cause.message) } : {}),
  }
}

export type Log = Logger

interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  readonly format: 'json' | 'pretty'
}

/** The maximum number of characters of log lines that wait to be written. Further lines are dropped. */
const maxBacklog = 1 << 20

/** Creates a log that writes to standard error, because standard output is for the results of commands. */
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
      : pino.destination({ dest: 2, sync: true, maxLength: maxBacklog })
  // Standard error may be redirected to a file on a full disk. In that case lines are lost, but the process continues.
  stream.on('error', () => undefined)
  return pino(settings, stream)
}

export function silentLog(): Log {
  return pino({ level: 'silent' })
}
