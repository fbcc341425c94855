// Simple setting types: strings, names, numbers, switches, choices, durations, sizes.
import { z } from 'zod'
import { kind, line, type Kind } from './kind.ts'

export const text = kind(
  line.refine(given => !/\p{Cc}/u.test(given)),
  { noun: 'a string', remedy: 'Write it on one line.' },
)

/** A file path. A later check tests whether the file is readable. */
export const path = kind(line, { noun: 'the path of a file', remedy: 'Write one path.' })

export const destinationName = nameOf('destination', 'default', 'the otlp settings')

export const platformName = nameOf('platform', 'default', 'the platform settings')

export const rateName = nameOf('rate', 'unpriced', 'jobs that no rule matches')

/** Creates a setting type for names. `reserved` is a name that must not be used, because it already has a meaning. */
function nameOf(what: string, reserved: string, reservedFor: string): Kind<string> {
  return kind(
    line.regex(/^[A-Za-z0-9._-]{1,64}$/).refine(given => given !== reserved),
    {
      noun: `the name of a ${what}`,
      remedy: `Write letters, digits, dots, dashes and underscores, at most 64; ${reserved} is reserved for ${reservedFor}.`,
    },
  )
}

/** The syntax of instrument names in the OpenTelemetry specification. */
export const metricName = kind(line.regex(/^[A-Za-z][A-Za-z0-9_./-]{0,254}$/), {
  noun: 'the name of a metric',
  remedy: 'Begin with a letter; write letters, digits, dots, dashes, slashes and underscores, at most 255.',
})

/** Creates a schema for strings of this form that are numbers within these bounds. */
function numeral(form: RegExp, bounds: z.ZodNumber): z.ZodType<number> {
  return line.regex(form).transform(Number).pipe(bounds)
}

const decimalRemedy = 'Write digits, with a dot before the fraction, such as 0.25.'

export const decimal = kind(numeral(/^\d{1,12}(\.\d{1,12})?$/, z.number().min(0)), {
  noun: 'a number from 0',
  remedy: decimalRemedy,
})

export const ratio = kind(numeral(/^\d(\.\d{1,12})?$/, z.number().min(0).max(1)), {
  noun: 'a number from 0 to 1',
  remedy: decimalRemedy,
})

export const boolean = kind(line.pipe(z.stringbool({ truthy: ['true'], falsy: ['false'] })), {
  noun: 'a boolean',
  remedy: 'Write true or false.',
})

/** Creates a setting type for whole numbers within inclusive bounds. */
export function integer({ min, max }: { min: number; max: number }): Kind<number> {
  return kind(numeral(/^-?\d+$/, z.int().min(min).max(max)), {
    noun: `a whole number from ${min} to ${max}`,
    remedy: `Write only digits, such as ${min}.`,
  })
}

/** Creates a setting type that accepts one of a few values, case-insensitive. */
export function oneOf<const V extends string>(values: readonly V[]): Kind<V> {
  return kind(line.toLowerCase().pipe(z.enum(values)), {
    noun: `one of ${values.map(value => `\`${value}\``).join(', ')}`,
    remedy: `Write one of ${values.join(', ')}.`,
  })
}

const durationUnits = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration in ms. Several parts may be combined: `1h30m`. */
export const duration = kind(durationText().refine(Number.isSafeInteger), {
  noun: 'a duration',
  remedy: 'Write a number with its unit, such as 250ms, 5s, 1h or 7d.',
  show: showDuration,
})

/** Creates a setting type for durations with a minimum, in ms. */
export function durationFrom(min: number): Kind<number> {
  return kind(
    duration.schema.refine(ms => ms >= min),
    {
      noun: `a duration of at least ${showDuration(min)}`,
      remedy: `Write a number with its unit, such as 5s, 1h or 7d; at least ${showDuration(min)}.`,
      show: showDuration,
    },
  )
}

/** The maximum timeout, ms. In Node, a longer timer fires after 1 ms. */
const maxTimeout = 2_147_483_647

const milliseconds = z.int().min(1).max(maxTimeout)

/** A timeout in ms, at least 1. A number without a unit means milliseconds, as in the OpenTelemetry specification. */
export const timeout = kind(
  z.union([numeral(/^\d+$/, milliseconds), durationText().refine(ms => milliseconds.safeParse(ms).success)]),
  {
    noun: 'a timeout',
    remedy:
      'Write milliseconds as OpenTelemetry does, such as 10000, or a duration such as 10s; at least 1 ms, at most 24d.',
    json: {
      anyOf: [
        { type: 'integer', minimum: 1, maximum: maxTimeout },
        { type: 'string', pattern: '^([0-9]+(ms|s|m|h|d))+$' },
      ],
    },
    show: showDuration,
  },
)

const sizeUnits = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const

export const byteSize = kind(
  line
    .regex(/^[0-9]+ ?(B|KiB|MiB|GiB|TiB)$/)
    .transform(given => {
      const [, count, unit] = /^(\d+) ?(\w+)$/.exec(given) ?? []
      return Number(count) * sizeUnits[unit as keyof typeof sizeUnits]
    })
    .refine(Number.isSafeInteger),
  {
    noun: 'a size',
    remedy: 'Write a whole number with its unit: B, KiB, MiB, GiB or TiB, such as 512MiB.',
    show: bytes => inLargestUnit(bytes, sizeUnits) ?? `${bytes}B`,
  },
)

function durationText() {
  return line.regex(/^([0-9]+(ms|s|m|h|d))+$/).transform(given => {
    const parts = [...given.matchAll(/(\d+)(ms|s|m|h|d)/g)]
    return parts.reduce((sum, [, n, unit]) => sum + Number(n) * durationUnits[unit as 's'], 0)
  })
}

function showDuration(ms: number): string {
  return inLargestUnit(ms, durationUnits) ?? `${ms}ms`
}

/** Formats the amount in the largest unit that leaves no remainder: `90s`, not `1.5m`. */
function inLargestUnit(amount: number, units: Readonly<Record<string, number>>): string | undefined {
  const unit = Object.entries(units).findLast(([, size]) => amount >= size && amount % size === 0)
  return unit === undefined ? undefined : `${amount / unit[1]}${unit[0]}`
}
