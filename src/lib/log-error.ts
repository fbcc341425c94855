// How an error looks in the log: its sort, its words and its stack, without secrets, and nothing else of it. Errors of libraries hold requests,
// rows and headers.
import { redact } from './redaction.ts'

/** For pino's `serializers`: what is logged as `err`. */
export const logSerializers = { err: errorFacts }

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
