// How an error is logged: type, message, code and stack, redacted, and none of its other fields. Errors of libraries carry
// requests, rows and headers.
import { redact } from './secret.ts'

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
