// Plain kinds: text, numbers, switches, choices, durations, sizes.
import { scalar, type Kind } from './kind.ts'

export const text: Kind<string> = scalar({
  noun: 'a string',
  remedy: 'Write it on one line.',
  read: given => (/\p{Cc}/u.test(given) ? undefined : given),
})

/** The path of a file. That it can be read is checked later. */
export const path: Kind<string> = scalar({
  noun: 'the path of a file',
  remedy: 'Write one path.',
  read: given => given,
})

export const destinationName = nameOf('destination', 'default', 'the otlp settings')

export const platformName = nameOf('platform', 'default', 'the platform settings')

export const rateName = nameOf('rate', 'unpriced', 'jobs that no rule matches')

/** `reserved`: the name that cannot be given, because it is that of something else. */
function nameOf(what: string, reserved: string, reservedFor: string): Kind<string> {
  return scalar({
    noun: `the name of a ${what}`,
    remedy: `Write letters, digits, dots, dashes and underscores, at most 64; ${reserved} is reserved for ${reservedFor}.`,
    // Without the reserved name: RE2, by which Helm checks patterns, has no look-ahead.
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
    read: given => (/^[\w.-]{1,64}$/.test(given) && given !== reserved ? given : undefined),
  })
}

/** The syntax of instrument names in the OpenTelemetry specification. */
export const metricName: Kind<string> = scalar({
  noun: 'the name of a metric',
  remedy: 'Begin with a letter; write letters, digits, dots, dashes, slashes and underscores, at most 255.',
  schema: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9_./-]{0,254}$' },
  read: given => (/^[A-Za-z][\w./-]{0,254}$/.test(given) ? given : undefined),
})

/** A number from 0 on. */
export const decimal: Kind<number> = scalar({
  noun: 'a number from 0',
  remedy: 'Write digits, with a dot before the fraction, such as 0.25.',
  schema: { type: 'number', minimum: 0 },
  read: given => (/^\d{1,12}(\.\d{1,12})?$/.test(given) ? Number(given) : undefined),
})

/** A share of a whole. */
export const ratio: Kind<number> = scalar({
  noun: 'a number from 0 to 1',
  remedy: 'Write digits, with a dot before the fraction, such as 0.25.',
  schema: { type: 'number', minimum: 0, maximum: 1 },
  read: given => (/^\d(\.\d{1,12})?$/.test(given) && Number(given) <= 1 ? Number(given) : undefined),
})

export const boolean: Kind<boolean> = scalar({
  noun: 'a boolean',
  remedy: 'Write true or false.',
  schema: { type: 'boolean' },
  read: given => {
    const lower = given.toLowerCase()
    return lower === 'true' || lower === 'false' ? lower === 'true' : undefined
  },
})

/** A whole number within bounds, both included. */
export function integer({ min, max }: { min: number; max: number }): Kind<number> {
  return scalar({
    noun: `a whole number from ${min} to ${max}`,
    remedy: `Write digits alone, such as ${min}.`,
    schema: { type: 'integer', minimum: min, maximum: max },
    read: given => {
      const number = Number(given)
      return /^-?\d+$/.test(given) && number >= min && number <= max ? number : undefined
    },
  })
}

/** One of a few words, in any case. */
export function oneOf<const W extends string>(words: readonly W[]): Kind<W> {
  const listed = words.map(word => `\`${word}\``).join(', ')
  return scalar({
    noun: `one of ${listed}`,
    remedy: `Write one of ${words.join(', ')}.`,
    schema: { enum: words },
    read: given => words.find(word => word === given.toLowerCase()),
  })
}

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Milliseconds. Several parts are added: `1h30m`. */
export const duration: Kind<number> = scalar({
  noun: 'a duration',
  remedy: 'Write a number with its unit, such as 250ms, 5s, 1h or 7d.',
  schema: { type: 'string', pattern: '^([0-9]+(ms|s|m|h|d))+$' },
  read: readDuration,
  show: showDuration,
})

/** A duration that is not shorter than this. */
export function durationFrom(min: number): Kind<number> {
  const noun = `a duration of at least ${showDuration(min)}`
  return scalar<number>({
    noun,
    remedy: `Write a number with its unit, such as 5s, 1h or 7d; at least ${showDuration(min)}.`,
    schema: duration.schema,
    read: given => {
      const ms = readDuration(given)
      return ms !== undefined && ms >= min ? ms : undefined
    },
    show: showDuration,
  })
}

/** A longer timer would run out at once in Node, after 1 ms. */
const maxTimeout = 2_147_483_647

/** Milliseconds, at least 1 and at most `maxTimeout`. A number without a unit is milliseconds, as in the OpenTelemetry specification. */
export const timeout: Kind<number> = scalar({
  noun: 'a timeout',
  remedy:
    'Write milliseconds as OpenTelemetry does, such as 10000, or a duration such as 10s; at least 1 ms, at most 24d.',
  schema: { anyOf: [{ type: 'integer', minimum: 1, maximum: maxTimeout }, duration.schema] },
  read: given => {
    const ms = /^\d+$/.test(given) ? Number(given) : readDuration(given)
    return ms !== undefined && ms >= 1 && ms <= maxTimeout ? ms : undefined
  },
  show: showDuration,
})

const sizeUnits = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const

/** Bytes. */
export const byteSize: Kind<number> = scalar({
  noun: 'a size',
  remedy: 'Write a whole number with its unit: B, KiB, MiB, GiB or TiB, such as 512MiB.',
  schema: { type: 'string', pattern: '^[0-9]+ ?(B|KiB|MiB|GiB|TiB)$' },
  read: given => {
    const [, count, unit] = /^(\d+) ?(B|KiB|MiB|GiB|TiB)$/.exec(given) ?? []
    return safe(Number(count) * sizeUnits[unit as keyof typeof sizeUnits])
  },
  show: bytes => inLargestUnit(bytes, sizeUnits) ?? `${bytes}B`,
})

function readDuration(given: string): number | undefined {
  if (!/^(?:\d+(?:ms|s|m|h|d))+$/.test(given)) return undefined
  const parts = given.matchAll(/(\d+)(ms|s|m|h|d)/g)
  return safe([...parts].reduce((sum, [, n, unit]) => sum + Number(n) * durationUnits[unit as 's'], 0))
}

function showDuration(ms: number): string {
  return inLargestUnit(ms, durationUnits) ?? `${ms}ms`
}

/** In the largest unit that leaves no remainder: `90s`, not `1.5m`. */
function inLargestUnit(amount: number, units: Readonly<Record<string, number>>): string | undefined {
  const unit = Object.entries(units).findLast(([, size]) => amount >= size && amount % size === 0)
  return unit === undefined ? undefined : `${amount / unit[1]}${unit[0]}`
}

function safe(amount: number): number | undefined {
  return Number.isSafeInteger(amount) ? amount : undefined
}
