// The W3C traceparent. Pure.

/** Ids that are not zero, lower case (W3C Trace Context, "traceparent Header Field Values"). Version ff is forbidden. */
const traceparent = /^(?!ff)([0-9a-f]{2})-((?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/s

/**
 * The value as version 00 if it is valid; otherwise undefined. Of a higher version the ids and the sampled bit are read, and what may follow after
 * another dash is not (the same, "Versioning of traceparent").
 */
export function validTraceparent(value: string): string | undefined {
  const [trimmed, version, ids, flags = '', more] = traceparent.exec(value.trim()) ?? []
  if (version === '00') return more === undefined ? trimmed : undefined
  return ids && `00-${ids}-0${Number.parseInt(flags, 16) & 1}`
}
